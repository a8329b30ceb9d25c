import type { Migration } from '../migrate.ts'

/**
 * Whom an event is for and whose a subscriber is; conditions on the data; HTTP message signatures; subscribers of
 * operational events, and since when one has been failing. Breaking: a program that knows no owners would send each
 * tenant's events to all the others.
 */
export const audiences: Migration = {
  number: 5,
  name: 'audiences',
  breaking: true,
  sqlite: `
    alter table outbox add column audience text;
    alter table subscribers add column owner text;
    alter table subscribers add column conditions text;
    alter table subscribers add column http_signature integer not null default 0;
    alter table subscribers add column operational integer not null default 0;
    alter table subscribers add column failing_since integer;
    create index subscribers_of_owner on subscribers (owner, id) where owner is not null;
    create index subscribers_operational on subscribers (id) where operational = 1;
  `,
  postgres: `
    alter table outbox add column audience text collate "C";
    alter table subscribers
      add column owner text collate "C", add column conditions text,
      add column http_signature integer not null default 0, add column operational integer not null default 0,
      add column failing_since bigint;
    create index subscribers_of_owner on subscribers (owner, id) where owner is not null;
    create index subscribers_operational on subscribers (id) where operational = 1;
  `,
}
