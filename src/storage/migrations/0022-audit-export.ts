import type { Migration } from '../migrate.ts'

/**
 * A number for each entry of the audit log that only grows, so that a reader who follows it misses no late commit: as for events
 * (docs/adr/0004), each statement that inserts entries first publishes the last number that was given out, as a shared advisory lock
 * until its transaction ends. On SQLite one transaction writes at a time, so numbers become visible in their order.
 */
export const auditExport: Migration = {
  number: 22,
  name: 'audit-export',
  breaking: false,
  sqlite: `
    alter table audit_log rename to audit_log_before;
    drop index audit_by_time;
    drop index audit_of_user;
    drop index audit_of_action;
    drop index audit_anonymous_failures;
    create table audit_log (
      seq integer primary key autoincrement, id text not null unique, created_at integer not null, action text not null,
      user_id text, actor text, session_id text, provider text, provider_id text, target text, code text, support_id text,
      address text, user_agent text, detail text
    ) strict;
    insert into audit_log (id, created_at, action, user_id, actor, provider, provider_id, target, code, support_id, address,
      user_agent, detail)
      select id, created_at, action, user_id, actor, provider, provider_id, target, code, support_id, address, user_agent, detail
      from audit_log_before order by created_at, id;
    drop table audit_log_before;
    create index audit_by_time on audit_log (created_at, id);
    create index audit_of_user on audit_log (user_id, created_at, id);
    create index audit_of_action on audit_log (action, created_at, id);
    create index audit_anonymous_failures on audit_log (created_at) where user_id is null and code is not null;
    create table audit_exports (
      destination text primary key, position integer not null, claim text, claimed_until integer,
      failing_since integer, last_error text, updated_at integer not null
    ) strict, without rowid;
  `,
  postgres: `
    create sequence audit_log_seq;
    alter table audit_log add column session_id text, add column seq bigint;
    update audit_log set seq = numbered.n
      from (select id, row_number() over (order by created_at, id) as n from audit_log) as numbered
      where audit_log.id = numbered.id;
    select setval('audit_log_seq', max(seq)) from audit_log having max(seq) is not null;
    alter table audit_log alter column seq set default nextval('audit_log_seq'), alter column seq set not null;
    alter sequence audit_log_seq owned by audit_log.seq;
    create unique index audit_in_order on audit_log (seq);
    create function audit_publish_floor() returns trigger language plpgsql as $$
    declare
      published boolean;
    begin
      published := pg_advisory_xact_lock_shared((7227::bigint << 48)
        | coalesce(pg_sequence_last_value('audit_log_seq'::regclass), 0)) is null;
      return null;
    end $$;
    create trigger audit_publish_floor before insert on audit_log
      for each statement execute function audit_publish_floor();
    create function audit_horizon() returns bigint language plpgsql volatile as $$
    declare
      highest bigint;
      floor bigint;
    begin
      highest := coalesce(pg_sequence_last_value('audit_log_seq'::regclass), 0);
      select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1)) into floor from pg_locks
        where locktype = 'advisory' and objsubid = 1 and (classid::bigint >> 16) = 7227
          and database = (select oid from pg_database where datname = current_database());
      return least(highest, floor);
    end $$;
    create table audit_exports (
      destination text collate "C" primary key, position bigint not null, claim text, claimed_until bigint,
      failing_since bigint, last_error text, updated_at bigint not null
    );
  `,
}
