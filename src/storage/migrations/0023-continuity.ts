import type { Migration } from '../migrate.ts'

/**
 * What tells that the database was taken back to an earlier state (docs/adr/0029): a random number for each emitted event, which its
 * deliveries carry too, since the numbers of both can come again; and on PostgreSQL the server and the database that the
 * numbers were last given out by. `postern_continue` compares that with where it runs. Where that differs, or where the caller has
 * seen higher numbers than there are, it raises the sequences above everything that can have been given out.
 *
 * The bound is one of time: what was lost is younger than the newest event that is there, and was given out at no more than 100
 * events and 1,000 deliveries a millisecond. A minute is added for clocks that differ.
 */
export const continuity: Migration = {
  number: 23,
  name: 'continuity',
  breaking: false,
  sqlite: `
    alter table events add column nonce integer;
    alter table deliveries add column nonce integer;
  `,
  postgres: `
    alter table events add column nonce bigint;
    alter table deliveries add column nonce bigint;
    create table continuity (
      one integer primary key check (one = 1), life text not null, server text not null, since bigint not null
    );

    -- The system, its timeline, its start, the database and the sequence that gives out the numbers. Providers may withhold some of it.
    create function postern_server() returns text language plpgsql as $$
    declare
      system text;
      timeline text;
    begin
      begin
        select system_identifier::text into system from pg_control_system();
      exception when insufficient_privilege or undefined_function or feature_not_supported then
        system := '-';
      end;
      begin
        timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
      exception when insufficient_privilege or undefined_function or feature_not_supported
        or object_not_in_prerequisite_state then
        timeline := '-';
      end;
      return concat_ws(' ', system, timeline, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint,
        (select oid from pg_database where datname = current_database()), 'events_id_seq'::regclass::oid);
    end $$;

    -- On a standby life is null: nothing is compared there.
    create function postern_continue(seen_events bigint, seen_deliveries bigint,
      out life text, out events bigint, out deliveries bigint) language plpgsql as $$
    declare
      here text;
      known record;
      present bigint;
      gone bigint;
    begin
      if pg_is_in_recovery() then
        return;
      end if;
      here := postern_server();
      for look in 1..2 loop
        select c.life, c.server, c.since into known from continuity c;
        events := coalesce(pg_sequence_last_value('events_id_seq'::regclass), 0);
        deliveries := coalesce(pg_sequence_last_value('deliveries_id_seq'::regclass), 0);
        if known.server = here and events >= seen_events and deliveries >= seen_deliveries then
          life := known.life;
          return;
        end if;
        -- Of several sessions one raises the numbers. The others wait, and then find it done.
        perform pg_advisory_xact_lock(7226, 23);
      end loop;

      present := extract(epoch from clock_timestamp()) * 1000;
      gone := present - greatest(known.since, (select e.created_at from events e order by e.id desc limit 1));
      -- At most three years: what is wrong by more is a clock.
      gone := least(greatest(gone, 0), 100000000000) + 60000;
      events := setval('events_id_seq', greatest(events, seen_events) + gone * 100);
      deliveries := setval('deliveries_id_seq', greatest(deliveries, seen_deliveries) + gone * 1000);
      perform setval('audit_log_seq', coalesce(pg_sequence_last_value('audit_log_seq'::regclass), 0) + gone * 100);
      perform setval('rejected_webhooks_id_seq',
        coalesce(pg_sequence_last_value('rejected_webhooks_id_seq'::regclass), 0) + gone * 100);
      perform setval('inbox_claimers_id_seq', coalesce(pg_sequence_last_value('inbox_claimers_id_seq'::regclass), 0) + 10000);
      perform setval('dispatchers_id_seq', coalesce(pg_sequence_last_value('dispatchers_id_seq'::regclass), 0) + 10000);
      life := md5(random()::text || clock_timestamp()::text || here);
      update continuity c set life = postern_continue.life, server = here, since = present;
    end $$;

    insert into continuity select 1, md5(random()::text || clock_timestamp()::text), postern_server(),
      extract(epoch from clock_timestamp()) * 1000;
  `,
}
