import { type EngineSql, table, tableByKey, typed } from './table.ts'
import { publishFloor } from './servers.ts'

/**
 * `blocked`: an earlier event of the same order key is not processed yet. `processed` without an attempt: no handler takes the event,
 * and lists show it as `unhandled`.
 */
export type EventQueueStatus = 'pending' | 'blocked' | 'processed' | 'failed'

/** Received webhooks: the queue of events to process, and what was refused. */
export const receiving = {
  /**
   * One row for each received event: the entry of the queue while status is pending, then the marker that the event was
   * processed, until MARKER_RETENTION_DAYS. The acknowledgement inserts it with the event; workers update it.
   * (source, event_id) detects duplicates. No foreign key to events: the marker outlives the event.
   */
  event_queue: table({
    event: 'bigint primary key',
    source: 'text not null',
    event_id: 'text not null',
    type: 'text not null',
    status: typed<EventQueueStatus>('text not null'),
    /** Attempts that have ended so far: successes, failures, and ends of the process while only this event was running. */
    attempts: 'integer not null default 0',
    /** Attempts before the last reprocessing; the retry schedule counts from here. */
    attempts_before: 'integer not null default 0',
    /** When it may be claimed. */
    due_at: 'time not null',
    /** The holder of the lease. A worker that outlives its lease cannot write, because its claim does not match. */
    claim: 'text',
    /** When the lease of the claim ends. */
    leased_until: 'time',
    /** When the last failed attempt of this retry schedule started; null before the first failure. */
    failed_at: 'time',
    /** Set in the transaction of the handler's work. */
    processed_at: 'time',
    /** Events with the same key are processed one after the other, in the order of receipt. */
    order_key: 'sortedText',
    /** The group of its last failure. */
    failure_group: 'text',
    /** Null, unless a process ended while it had claimed the event: how often one ended since then while it ran the event alone. */
    crashes: 'integer',
    /** When a process began to run the event alone. If no claim holds the event, that process ended during the run. */
    alone_at: 'time',
    /** When the schedule's next attempt is due, if somebody made the event run before that. */
    planned_at: 'time',
    /** Failures of such runs since `attempts_before`; the retry schedule does not count them. */
    extra_attempts: 'integer',
    unique: '(source, event_id)',
    // For claims, which take the due events of one source and type after the other. A claim changes no column of an index
    // (docs/adr/0013-hot-paths.md).
    'index event_queue_due': "(source, type, due_at) where status = 'pending'",
    // For events whose process ended while it had claimed them: they run one at a time (docs/guides/handlers.md).
    'index event_queue_suspects': "(due_at) where status = 'pending' and crashes is not null",
    // For the lists of failed, retried and blocked events. Only events of these states are in them.
    // The handlers' page counts them by source and type, without reading the rows.
    'index event_queue_failed': "(event, source, type) where status = 'failed'",
    'index event_queue_retrying': "(event, source, type) where status = 'pending' and failed_at is not null",
    'index event_queue_blocked': "(event) where status = 'blocked'",
    // For the newest failures, which pages follow. Only a failure writes to it.
    'index event_queue_failures': '(failed_at) where failed_at is not null',
    // For the events of a group of failures.
    'index event_queue_of_group': '(failure_group, status, event) where failure_group is not null',
    // For the next event of an order key when the one before it is done.
    'index event_queue_in_order': '(order_key, status, event) where order_key is not null',
  }),

  /** One row for each failed attempt of a handler. The worker inserts it. Deleted with its event. */
  handler_failures: tableByKey({
    event: 'bigint not null',
    number: 'integer not null',
    at: 'time not null',
    duration_ms: 'integer not null',
    error: 'text not null',
    'primary key': '(event, number)',
  }),

  /** One row for each of the last refused webhooks, without credentials and signatures. The refusal inserts it and deletes the oldest ones. */
  rejected_webhooks: table({
    id: 'countedKey',
    source: 'text not null',
    at: 'time not null',
    /** A key of receiving/rejections/reasons.ts. */
    reason: 'text not null',
    /** The message of the signature scheme. */
    detail: 'text not null',
    address: 'text',
    /** JSON. */
    headers: 'text not null',
    /** The size of the whole body in bytes, if known. */
    size: 'integer',
    /** The first bytes of the body. */
    body: 'bytes',
    // For the last ten of each source and reason.
    'index rejected_webhooks_of_source': '(source, reason, id)',
  }),

  /**
   * One row for each group of failures with the same handler and cause. The first failure inserts it, later ones are added once
   * a second; deleted after PAYLOAD_RETENTION_DAYS without a failure (docs/adr/0045-failure-groups.md).
   */
  failure_groups: table({
    /** Derived from handler, name, message and frame. */
    id: 'text primary key',
    /** The id of the handler that failed. */
    handler: 'text not null',
    /** Of the error, such as `TypeError`. */
    name: 'text not null',
    /** The first line, without the parts that differ between failures. */
    message: 'text not null',
    /** The first stack frame of the user's own code. */
    frame: 'text',
    first_at: 'time not null',
    last_at: 'time not null',
    count: 'bigint not null',
    // For the list, the newest failure first.
    'index failure_groups_by_last': '(last_at, id)',
  }),

  /** One row for each handler that is paused: its events wait. A call inserts and deletes it (docs/adr/0044-paused-handlers.md). */
  paused_handlers: table({
    handler: 'text primary key',
    paused_at: 'time not null',
    /** The actor, as in the audit log. */
    paused_by: 'text',
  }),

  /** Counts of sources, handlers, groups of failures and rejected webhooks in slots of time, added once a second; slot 0 counts all time. */
  receiving_activity: tableByKey({
    kind: typed<'source' | 'handler' | 'failure' | 'rejected'>('text not null'),
    /** Of the source or handler, or the id of the group. The counter of a rejected webhook is a key of receiving/rejections/reasons.ts. */
    name: 'sortedText not null',
    /** Its first millisecond; 0 for the count of all time. */
    slot: 'time not null',
    counter: 'text not null',
    count: 'bigint not null',
    last_at: 'time not null',
    'primary key': '(kind, name, slot, counter)',
  }),
}

export const receivingOn: EngineSql = {
  // A claimed row gets its second version on the same page (docs/adr/0013-hot-paths.md).
  postgres: 'alter table event_queue set (fillfactor = 50);',
}

/**
 * The log of events, and jobs that run over many of them.
 *
 * No table has a foreign key to `events` or `deliveries`: the check would look up and lock the parent at each insert, and
 * the retention deletes a parent with its children in one transaction, but keeps the ids of deleted events
 * (docs/adr/0009-retention.md).
 */
export const events = {
  /**
   * One row for each received or emitted event. The request, or the transaction that emits, inserts it. Rows are
   * not updated, except when a payload is removed. They are deleted after PAYLOAD_RETENTION_DAYS, when their work is done.
   * The payload comes last: SQLite reads the columns behind a large value through all pages of the value.
   */
  events: table({
    /** Grows with each event; a reader that follows it misses none (docs/adr/0004). */
    id: 'countedKey',
    /** The stable id of the webhook event. */
    event_id: 'text not null',
    direction: typed<'received' | 'emitted'>('text not null'),
    /** The name of the source of a received event. */
    source: 'text',
    type: 'text not null',
    content_type: 'text not null',
    created_at: 'time not null',
    /** Of an emitted event: a random number, by which a reused id is detected (docs/adr/0029). Null for received ones. */
    nonce: 'bigint',
    /** JSON: the request's headers without secrets. */
    headers: 'text',
    /** The received bytes, or the bytes to send. */
    payload: 'bytes not null',
    // For the deliveries of an event type, newest first.
    'index events_emitted_by_type': "(type, id) where direction = 'emitted'",
  }),

  /**
   * One row for each replay, reprocessing or removal of many rows: a call inserts it, and the process that claims it works on it.
   * Also one row for each statistic that a call computed.
   * subscriber_id has no foreign key: the record of a job outlives its subscriber.
   */
  jobs: table({
    id: 'sortedText primary key',
    /** Of deliveries; of failed received events; of a removed subscriber's deliveries; a result that was computed at once. */
    kind: typed<'replay' | 'reprocess' | 'removal' | 'statistics'>('text not null'),
    subscriber_id: 'text',
    /** JSON: selects the rows that the job works on. Of `statistics`: the result. */
    filter: 'text not null',
    status: typed<'running' | 'done' | 'cancelled' | 'failed'>('text not null'),
    total: 'integer not null',
    done: 'integer not null',
    /** The last row that is done: a restart continues behind it. */
    position: 'bigint not null',
    /** Deliveries per second; null for no limit. */
    rate: 'double',
    due_at: 'time not null',
    claim: 'text',
    created_at: 'time not null',
    updated_at: 'time not null',
    // For the worker that looks for the next step.
    'index jobs_due': "(due_at) where status = 'running'",
  }),
}

export const eventsOn: EngineSql = {
  postgres: publishFloor({
    prefix: 'events',
    table: 'events',
    sequence: 'events_id_seq',
    lockClass: 7226,
    readHighest:
      'select case when is_called then last_value else last_value - 1 end into highest from events_id_seq;',
  }),
}
