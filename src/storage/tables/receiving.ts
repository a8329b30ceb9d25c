import type { Generated } from 'kysely'

export interface ReceivingTables {
  event_queue: EventQueueTable
  event_queue_claimers: EventQueueClaimersTable
  handler_failures: HandlerFailuresTable
  rejected_webhooks: RejectedWebhooksTable
  rejected_counts: RejectedCountsTable
  failure_groups: FailureGroupsTable
  paused_handlers: PausedHandlersTable
  receiving_activity: ReceivingActivityTable
}

/**
 * `blocked`: an earlier event of the same order key is not processed yet. `processed` without an attempt: no handler takes the event,
 * and lists show it as `unhandled`.
 */
export type EventQueueStatus = 'pending' | 'blocked' | 'processed' | 'failed'

/**
 * One row per received event id: the queue's entry while it is pending, and the processed-event marker once
 * `processed_at` is set, in the transaction of the handler's work.
 */
export interface EventQueueTable {
  event: number
  source: string
  event_id: string
  type: string
  status: EventQueueStatus
  /** Attempts that have ended so far: successes, failures, and ends of the process while only this event was running. */
  attempts: number
  /** Attempts before the last reprocessing; the retry schedule counts from here. */
  attempts_before: number
  /** When it may be claimed. */
  due_at: number
  /** The holder of the lease. A worker that outlives its lease cannot write, because its claim does not match. */
  claim: string | null
  /** When the lease of the claim ends. */
  leased_until: Generated<number | null>
  /** When the last failed attempt of this retry schedule started; null before the first failure. */
  failed_at: Generated<number | null>
  processed_at: number | null
  /** Events with the same key are processed one after the other, in the order of receipt. */
  order_key: string | null
  /** The group of its last failure. */
  failure_group: Generated<string | null>
  /** Null, unless a process ended while it had claimed the event: how often one ended since then while it ran the event alone. */
  crashes: Generated<number | null>
  /** When a process began to run the event alone. If no claim holds the event, that process ended during the run. */
  alone_at: Generated<number | null>
  /** When the schedule's next attempt is due, if somebody made the event run before that. */
  planned_at: Generated<number | null>
  /** Failures of such runs since `attempts_before`; the retry schedule does not count them. */
  extra_attempts: Generated<number | null>
}

/** A process that claims received events. PostgreSQL only. */
export interface EventQueueClaimersTable {
  /** The process holds an advisory lock on it. */
  id: Generated<number>
}

export interface HandlerFailuresTable {
  event: number
  number: number
  at: number
  duration_ms: number
  error: string
}

/** The last refused webhooks of each source, without credentials and signatures. */
export interface RejectedWebhooksTable {
  id: Generated<number>
  source: string
  at: number
  /** A key of receiving/rejections/reasons.ts. */
  reason: string
  /** The message of the signature scheme. */
  detail: string
  address: string | null
  /** JSON. */
  headers: string
  /** The size of the whole body in bytes, if known. */
  size: number | null
  /** The first bytes of the body. */
  body: Uint8Array | null
}

/** The number of refused webhooks of a day, by source and reason. */
export interface RejectedCountsTable {
  /** Its first millisecond, UTC. */
  day: number
  source: string
  /** A key of receiving/rejections/reasons.ts. */
  reason: string
  count: number
  last_at: number
}

/** Failures with the same handler and cause. */
export interface FailureGroupsTable {
  /** Derived from handler, name, message and frame. */
  id: string
  /** The id of the handler that failed. */
  handler: string
  /** Of the error, such as `TypeError`. */
  name: string
  /** The first line, without the parts that differ between failures. */
  message: string
  /** The first stack frame of the user's own code. */
  frame: string | null
  first_at: number
  last_at: number
  count: number
}

/** A handler whose events wait until it is resumed. */
export interface PausedHandlersTable {
  handler: string
  paused_at: number
  /** The actor, as in the audit log. */
  paused_by: string | null
}

/** Counts in slots of time. */
export interface ReceivingActivityTable {
  kind: 'source' | 'handler' | 'failure'
  /** Of the source or handler, or the id of the group. */
  name: string
  /** Its first millisecond; 0 for the count of all time. */
  slot: number
  counter: string
  count: number
  last_at: number
}

export interface EventTables {
  events: EventsTable
  jobs: JobsTable
}

/** The log of received and emitted events. Rows are never updated. */
export interface EventsTable {
  /** Grows with each event; a reader that follows it misses none (docs/adr/0004). */
  id: Generated<number>
  /** The stable id of the webhook event. */
  event_id: string
  direction: 'received' | 'emitted'
  /** The name of the source of a received event. */
  source: string | null
  type: string
  content_type: string
  /** The received bytes, or the bytes to send. */
  payload: Uint8Array
  /** JSON: the request's headers without secrets. */
  headers: string | null
  created_at: number
  /** Of an emitted event: a random number, by which a reused id is detected (docs/adr/0029). Null for received ones. */
  nonce: Generated<number | null>
}

export interface JobsTable {
  id: string
  /** Of deliveries; of failed received events; of a removed subscriber's deliveries; a result that was computed at once. */
  kind: 'replay' | 'reprocess' | 'removal' | 'statistics'
  subscriber_id: string | null
  /** JSON: selects the rows that the job works on. Of `statistics`: the result. */
  filter: string
  status: 'running' | 'done' | 'cancelled' | 'failed'
  total: number
  done: number
  /** The last row that is done: a restart continues behind it. */
  position: number
  /** Deliveries per second; null for no limit. */
  rate: number | null
  due_at: number
  claim: string | null
  created_at: number
  updated_at: number
}
