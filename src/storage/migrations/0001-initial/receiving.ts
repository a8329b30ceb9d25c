import type { SchemaPart } from './dialect.ts'
import { publishFloor } from './servers.ts'

/** Received webhooks: the queue of events to process, and what was refused. */
export const receiving: SchemaPart = {
  tables: ({ time, bigint, bytes, countedKey, sortedText, strict, strictByKey }) => `
    -- One row for each received event: the entry of the queue while status is pending, then the marker that the event was
    -- processed, until MARKER_RETENTION_DAYS. The acknowledgement inserts it with the event; workers update it.
    -- (source, event_id) detects duplicates. No foreign key to events: the marker outlives the event.
    create table event_queue (
      event ${bigint} primary key, source text not null, event_id text not null, type text not null,
      status text not null, attempts integer not null default 0, attempts_before integer not null default 0,
      due_at ${time} not null, claim text, leased_until ${time}, failed_at ${time}, processed_at ${time},
      order_key ${sortedText}, failure_group text, crashes integer, alone_at ${time},
      planned_at ${time}, extra_attempts integer, unique (source, event_id)
    ) ${strict};
    -- For claims, which take the due events of one source and type after the other. A claim changes no column of an index
    -- (docs/adr/0013-hot-paths.md).
    create index event_queue_due on event_queue (source, type, due_at) where status = 'pending';
    -- For events whose process ended while it had claimed them: they run one at a time (docs/guides/handlers.md).
    create index event_queue_suspects on event_queue (due_at) where status = 'pending' and crashes is not null;
    -- For the lists of failed, retried and blocked events. Only events of these states are in them.
    -- The handlers' page counts them by source and type, without reading the rows.
    create index event_queue_failed on event_queue (event, source, type) where status = 'failed';
    create index event_queue_retrying on event_queue (event, source, type) where status = 'pending' and failed_at is not null;
    create index event_queue_blocked on event_queue (event) where status = 'blocked';
    -- For the newest failures, which pages follow. Only a failure writes to it.
    create index event_queue_failures on event_queue (failed_at) where failed_at is not null;
    -- For the events of a group of failures.
    create index event_queue_of_group on event_queue (failure_group, status, event) where failure_group is not null;
    -- For the next event of an order key when the one before it is done.
    create index event_queue_in_order on event_queue (order_key, status, event) where order_key is not null;

    -- One row for each failed attempt of a handler. The worker inserts it. Deleted with its event.
    create table handler_failures (
      event ${bigint} not null, number integer not null, at ${time} not null, duration_ms integer not null,
      error text not null, primary key (event, number)
    ) ${strictByKey};

    -- One row for each of the last refused webhooks, without credentials. The refusal inserts it and deletes the oldest ones.
    create table rejected_webhooks (
      id ${countedKey}, source text not null, at ${time} not null, reason text not null,
      detail text not null, address text, headers text not null, size integer, body ${bytes}
    ) ${strict};
    -- For the last ten of each source and reason.
    create index rejected_webhooks_of_source on rejected_webhooks (source, reason, id);

    -- One row for each day, source and reason: the number of refused webhooks.
    create table rejected_counts (
      day ${time} not null, source text not null, reason text not null, count ${bigint} not null, last_at ${time} not null,
      primary key (day, source, reason)
    ) ${strictByKey};

    -- One row for each group of failures with the same handler and cause. The first failure inserts it, later ones are added once
    -- a second; deleted after PAYLOAD_RETENTION_DAYS without a failure (docs/adr/0045-failure-groups.md).
    create table failure_groups (
      id text primary key, handler text not null, name text not null, message text not null, frame text,
      first_at ${time} not null, last_at ${time} not null, count ${bigint} not null
    ) ${strict};
    -- For the list, the newest failure first.
    create index failure_groups_by_last on failure_groups (last_at, id);

    -- One row for each handler that is paused. A call inserts and deletes it (docs/adr/0044-paused-handlers.md).
    create table paused_handlers (
      handler text primary key, paused_at ${time} not null, paused_by text
    ) ${strict};

    -- Counts of sources, handlers and groups of failures in slots of time, added once a second; slot 0 counts all time.
    create table receiving_activity (
      kind text not null, name ${sortedText} not null, slot ${time} not null, counter text not null,
      count ${bigint} not null, last_at ${time} not null, primary key (kind, name, slot, counter)
    ) ${strictByKey};
  `,
  postgres: `
    -- A claimed row gets its second version on the same page (docs/adr/0013-hot-paths.md).
    alter table event_queue set (fillfactor = 50);

    -- One row for each process that claims events. Its session holds an advisory lock on the id; claims begin with the id.
    -- event_queue.claim has no foreign key: claims of a process that ended are given back by the others, which then delete its row.
    create table event_queue_claimers (id serial primary key);
  `,
}

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
