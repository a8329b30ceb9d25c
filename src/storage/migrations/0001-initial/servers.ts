import { type EngineSql, postgresTable } from './table.ts'

/**
 * The server that a database runs on, whose numbers stay unique after a fail-over or a restore (docs/adr/0029-continuity.md), and the
 * processes that use it. SQLite has no servers, and one process.
 */
export const servers = {
  /**
   * One row: the server and database that last gave out numbers, and the name of this life of the database.
   * postern_continue() writes it.
   */
  continuity: postgresTable({
    one: 'integer primary key check (one = 1)',
    /** A random name, new each time that the database was taken back to an earlier state. */
    life: 'text not null',
    /** What `postern_server()` returned then. */
    server: 'text not null',
    since: 'bigint not null',
  }),

  /**
   * One row for each process that claims events and subscriber queues. Its session holds an advisory lock on the id. Others delete the
   * row when the lock has been free for three seconds, and release its claims. Claims of events begin with the id and have no foreign key.
   */
  claimers: postgresTable({
    id: 'serial primary key',
    /** 1 from the start of the take-over: its process must not use the number again. */
    ended: 'integer not null default 0',
  }),
}

export const serversOn: EngineSql = {
  postgres: `
    -- The system, its timeline, its start, the database, and the sequence of events. A provider may withhold some of these.
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

    -- Each new session calls this with the highest numbers that its process has seen. If the database runs elsewhere than before,
    -- or has given out less than the process has seen, it was taken back to an earlier state. Then the function raises all
    -- sequences above every number that can have been given out and were lost.
    -- The bound is one of time: lost rows are younger than the newest event that is left, and at most 100 events and 1,000
    -- deliveries were given out in a millisecond. A minute is added for clocks that differ.
    -- On a standby life is null, and nothing is compared.
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
        -- One of several sessions raises the sequences. The others wait here, and then find it done.
        perform pg_advisory_xact_lock(7226, 23);
      end loop;

      present := extract(epoch from clock_timestamp()) * 1000;
      gone := present - greatest(known.since, (select e.created_at from events e order by e.id desc limit 1));
      -- At most three years: a longer time is the error of a clock.
      gone := least(greatest(gone, 0), 100000000000) + 60000;
      events := setval('events_id_seq', greatest(events, seen_events) + gone * 100);
      deliveries := setval('deliveries_id_seq', greatest(deliveries, seen_deliveries) + gone * 1000);
      perform setval('audit_log_seq', coalesce(pg_sequence_last_value('audit_log_seq'::regclass), 0) + gone * 100);
      perform setval('rejected_webhooks_id_seq',
        coalesce(pg_sequence_last_value('rejected_webhooks_id_seq'::regclass), 0) + gone * 100);
      perform setval('claimers_id_seq', coalesce(pg_sequence_last_value('claimers_id_seq'::regclass), 0) + 10000);
      life := md5(random()::text || clock_timestamp()::text || here);
      update continuity c set life = postern_continue.life, server = here, since = present;
    end $$;

    insert into continuity select 1, md5(random()::text || clock_timestamp()::text), postern_server(),
      extract(epoch from clock_timestamp()) * 1000;
  `,
}

interface FollowedTable {
  /** Of the functions and the trigger. */
  prefix: string
  table: string
  sequence: string
  /** The class of its advisory locks. */
  lockClass: number
  /** PL/pgSQL that assigns the last number of the sequence to `highest`. */
  readHighest: string
}

/**
 * For a table whose readers follow its sequence. PostgreSQL gives out numbers before the commit, so a lower number can become
 * visible after a higher one (docs/adr/0004-event-order.md).
 */
export const publishFloor = ({ prefix, table, sequence, lockClass, readHighest }: FollowedTable): string => `
    -- Each statement that inserts first publishes the last number that was given out, as a shared advisory lock that its transaction
    -- holds to its end: its own numbers are higher.
    -- The assignment is faster than perform or select: PL/pgSQL evaluates an expression that reads no table without a query.
    create function ${prefix}_publish_floor() returns trigger language plpgsql as $$
    declare
      published boolean;
    begin
      published := pg_advisory_xact_lock_shared((${lockClass}::bigint << 48)
        | coalesce(pg_sequence_last_value('${sequence}'::regclass), 0)) is null;
      return null;
    end $$;
    create trigger ${prefix}_publish_floor before insert on ${table}
      for each statement execute function ${prefix}_publish_floor();

    -- The number up to which no new row can become visible. It reads the sequence first and then the locks. The caller reads
    -- its rows in a later statement, whose snapshot includes everything up to the horizon.
    create function ${prefix}_horizon() returns bigint language plpgsql volatile as $$
    declare
      highest bigint;
      floor bigint;
    begin
      ${readHighest}
      select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1)) into floor from pg_locks
        where locktype = 'advisory' and objsubid = 1 and (classid::bigint >> 16) = ${lockClass}
          and database = (select oid from pg_database where datname = current_database());
      return least(highest, floor);
    end $$;
`
