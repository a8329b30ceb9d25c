import type { Migration } from '../migrate.ts'

/**
 * Phases and kinds of failure of attempts, how many attempts of each hour succeeded and how long they took, the rate of a
 * bulk replay, and the warning before a failing subscriber is disabled.
 */
export const deliveryInsight: Migration = {
  number: 9,
  name: 'delivery-insight',
  breaking: false,
  sqlite: `
    alter table attempts add column failure text;
    alter table attempts add column phases text;
    alter table jobs add column rate real;
    alter table subscribers add column warned_at integer;
    create table subscriber_hours (
      subscriber_id text not null references subscribers (id) on delete cascade,
      hour integer not null, duration_class integer not null, delivered integer not null, failed integer not null,
      primary key (subscriber_id, hour, duration_class)
    ) strict, without rowid;
    create index subscriber_hours_by_hour on subscriber_hours (hour);
  `,
  postgres: `
    alter table attempts add column failure text, add column phases text;
    alter table jobs add column rate double precision;
    alter table subscribers add column warned_at bigint;
    create table subscriber_hours (
      subscriber_id text collate "C" not null references subscribers (id) on delete cascade,
      hour bigint not null, duration_class integer not null, delivered integer not null, failed integer not null,
      primary key (subscriber_id, hour, duration_class)
    );
    create index subscriber_hours_by_hour on subscriber_hours (hour);
  `,
}
