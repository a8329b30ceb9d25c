import type { Migration } from '../migrate.ts'

/**
 * What the removal of old rows goes by, the link from an emitted event to the received one whose handler emitted it, and
 * the last webhooks that were refused.
 */
export const retention: Migration = {
  number: 3,
  name: 'retention',
  breaking: false,
  sqlite: `
    alter table outbox add column created_at integer not null default 0;
    alter table outbox add column caused_by integer;
    update outbox set created_at = coalesce((select created_at from events where id = outbox.event), 0);
    create index outbox_caused on outbox (caused_by) where caused_by is not null;
    create table rejected_webhooks (
      id integer primary key autoincrement, source text not null, at integer not null, reason text not null,
      detail text not null, address text, headers text not null, size integer, body blob
    ) strict;
    create index rejected_webhooks_of_source on rejected_webhooks (source, reason, id);
  `,
  postgres: `
    alter table outbox add column created_at bigint not null default 0, add column caused_by bigint;
    update outbox set created_at = coalesce((select created_at from events where id = outbox.event), 0);
    create index outbox_caused on outbox (caused_by) where caused_by is not null;
    create table rejected_webhooks (
      id bigserial primary key, source text not null, at bigint not null, reason text not null,
      detail text not null, address text, headers text not null, size integer, body bytea
    );
    create index rejected_webhooks_of_source on rejected_webhooks (source, reason, id);
  `,
}
