import type { SchemaPart } from './dialect.ts'
import { publishFloor } from './servers.ts'

/**
 * The log of events, and jobs that run over many of them.
 *
 * No table has a foreign key to `events` or `deliveries`: the check would look up and lock the parent at each insert, and
 * the retention deletes a parent with its children in one transaction, but keeps the ids of deleted events
 * (docs/adr/0009-retention.md).
 */
export const events: SchemaPart = {
  tables: ({ time, bigint, double, bytes, countedKey, sortedText, strict }) => `
    -- One row for each received or emitted event. The request, or the transaction that emits, inserts it. Rows are
    -- not updated, except when a payload is removed. They are deleted after PAYLOAD_RETENTION_DAYS, when their work is done.
    -- The payload comes last: SQLite reads the columns behind a large value through all pages of the value.
    create table events (
      id ${countedKey}, event_id text not null, direction text not null, source text,
      type text not null, content_type text not null, created_at ${time} not null, nonce ${bigint},
      headers text, payload ${bytes} not null
    ) ${strict};
    -- For the deliveries of an event type, newest first.
    create index events_emitted_by_type on events (type, id) where direction = 'emitted';

    -- One row for each replay, reprocessing or removal of many rows: a call inserts it, and the process that claims it works on it.
    -- Also one row for each statistic that a call computed.
    -- subscriber_id has no foreign key: the record of a job outlives its subscriber.
    create table jobs (
      id ${sortedText} primary key, kind text not null, subscriber_id text, filter text not null, status text not null,
      total integer not null, done integer not null, position ${bigint} not null, rate ${double},
      due_at ${time} not null, claim text, created_at ${time} not null, updated_at ${time} not null
    ) ${strict};
    -- For the worker that looks for the next step.
    create index jobs_due on jobs (due_at) where status = 'running';
  `,
  postgres: publishFloor({
    prefix: 'events',
    table: 'events',
    sequence: 'events_id_seq',
    lockClass: 7226,
    readHighest:
      'select case when is_called then last_value else last_value - 1 end into highest from events_id_seq;',
  }),
}
