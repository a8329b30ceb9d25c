import type { SchemaPart } from './dialect.ts'

/**
 * The log of events, and jobs that run over many of them.
 *
 * No table has a foreign key to `events` or `deliveries`: the check would look up and lock the parent at each insert, and
 * the retention deletes a parent with its children in one transaction, but keeps the ids of deleted events
 * (docs/adr/0009-retention.md).
 */
export const events: SchemaPart = {
  tables: ({ time, bigint, double, bytes, countedKey, sortedText, strict }) => `
    -- One row for each received or emitted event. The request, or the transaction that emits, inserts it. Rows are never
    -- updated; they are deleted after PAYLOAD_RETENTION_DAYS, when their work is done.
    -- The payload comes last: SQLite reads the columns behind a large value through all pages of the value.
    create table events (
      id ${countedKey}, event_id text not null, direction text not null, source text,
      type text not null, content_type text not null, created_at ${time} not null, nonce ${bigint},
      headers text, payload ${bytes} not null
    ) ${strict};
    -- For the deliveries of an event type, newest first.
    create index events_emitted_by_type on events (type, id) where direction = 'emitted';

    -- One row for each replay or reprocessing of many rows. A call inserts it, and the process that claims it works on it.
    -- subscriber_id has no foreign key: the record of a job outlives its subscriber.
    create table jobs (
      id ${sortedText} primary key, kind text not null, subscriber_id text, filter text not null, status text not null,
      total integer not null, done integer not null, position ${bigint} not null, rate ${double},
      due_at ${time} not null, claim text, created_at ${time} not null, updated_at ${time} not null
    ) ${strict};
    -- For the worker that looks for the next step.
    create index jobs_due on jobs (due_at) where status = 'running';
  `,
  postgres: `
    -- PostgreSQL gives out ids before the commit, so a lower id can become visible after a higher one
    -- (docs/adr/0004-event-order.md). Each statement that inserts events first publishes the last id that was given out, as a
    -- shared advisory lock (class 7226) that its transaction holds to its end: its own ids are higher.
    -- The assignment is faster than perform or select: PL/pgSQL evaluates an expression that reads no table without a query.
    create function events_publish_floor() returns trigger language plpgsql as $$
    declare
      published boolean;
    begin
      published := pg_advisory_xact_lock_shared((7226::bigint << 48)
        | coalesce(pg_sequence_last_value('events_id_seq'::regclass), 0)) is null;
      return null;
    end $$;
    create trigger events_publish_floor before insert on events
      for each statement execute function events_publish_floor();

    -- The id up to which no new event can become visible. It reads the sequence first and then the locks. The caller reads
    -- its events in a later statement, whose snapshot includes everything up to the horizon.
    create function events_horizon() returns bigint language plpgsql volatile as $$
    declare
      highest bigint;
      floor bigint;
    begin
      select case when is_called then last_value else last_value - 1 end into highest from events_id_seq;
      select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1)) into floor from pg_locks
        where locktype = 'advisory' and objsubid = 1 and (classid::bigint >> 16) = 7226
          and database = (select oid from pg_database where datname = current_database());
      return least(highest, floor);
    end $$;
  `,
}
