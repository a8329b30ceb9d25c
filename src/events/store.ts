import type { EventQueueStatus } from '../storage/tables.ts'

/**
 * The status of an event. Received: `pending`, `retrying` (failed at least once, waits for a retry), `blocked`, `processed`,
 * `unhandled` (no handler takes it) or `failed`. Emitted: `failed` if a delivery is dead; else `retrying` if a pending one failed since its schedule began; else
 * `pending` if one is pending; else `delivered`. Without deliveries `scheduled` or `canceled`, if it has a time of its own; else `unsubscribed`.
 */
export type EventStatus =
  | EventQueueStatus
  | 'unhandled'
  | 'retrying'
  | 'delivered'
  | 'scheduled'
  | 'canceled'
  | 'unsubscribed'

export interface EventRow {
  id: number
  event_id: string
  type: string
  direction: 'received' | 'emitted'
  source: string | null
  created_at: number
  status: EventStatus
}

/** The events of a page of the log. */
export const pageLimits = { default: 20, max: 100 }

/** The frequent statements of the event log, written for each engine. */
export interface EventStore {
  /** Events above `after` and up to `upTo`, in ascending order. */
  read(after: number, upTo: number, limit: number): Promise<EventRow[]>
  /** Events below `before` and up to `upTo`, in descending order. */
  readDown(before: number, upTo: number, limit: number): Promise<EventRow[]>
  /** The events with these numbers, in ascending order. */
  some(ids: readonly number[]): Promise<EventRow[]>
  /** The number up to which no further event can appear. */
  horizon(): Promise<number>
}

/**
 * SQL for whether a received event has its marker although no handler took it. It is derived, because each handled event has an attempt:
 * rows of older releases are right as well, and a column of its own would need a second index on each claim (docs/adr/0016).
 */
const isUnhandled = (table: string): string => `${table}.status = 'processed' and ${table}.attempts = 0`

/** The status of a row of the event queue, whether or not its event is still in the log. */
export function receivedStatus({
  status,
  attempts,
}: {
  status: EventQueueStatus
  attempts: number
}): EventQueueStatus | 'unhandled' {
  return status === 'processed' && attempts === 0 ? 'unhandled' : status
}

/** SQL for a delivery that failed since it was created or replayed, and waits for a retry; the condition of an index. */
export const isRetried = (table: string): string =>
  `${table}.status = 'pending' and ${table}.attempts > ${table}.attempts_before`

/**
 * SQL for whether the event has such a delivery. Those of a removed subscriber, which a job deletes by and by, do not count. A limit,
 * because for EXISTS in many rows PostgreSQL reads all deliveries once, as long as their events fit into the memory of a hash table.
 */
const hasDelivery = (
  condition: string,
): string => `(select 1 from deliveries d join subscribers s on s.id = d.subscriber_id
  where d.event = e.id and ${condition} limit 1) is not null`
/** With a literal, outdated statistics could let PostgreSQL read an index of all deliveries with the status. */
const hasStatus = (status: 'pending' | 'dead' | 'delivered'): string =>
  hasDelivery(`d.status = (select '${status}')`)

/** SQL for the status, for both engines. Each lookup is an index seek, and one for the subscriber of what it finds. */
export const statusExpression = `(case
  when e.direction = 'received' then (
    select case when q.status = 'pending' and q.failed_at is not null then 'retrying'
      when ${isUnhandled('q')} then 'unhandled' else q.status end
    from event_queue q where q.event = e.id)
  when ${hasStatus('dead')} then 'failed'
  when ${hasStatus('pending')} then case when ${hasDelivery(isRetried('d'))} then 'retrying' else 'pending' end
  when ${hasStatus('delivered')} then 'delivered'
  else coalesce((select case when x.canceled_at is not null then 'canceled'
    when x.released_at is null then 'scheduled' end from scheduled_events x where x.event = e.id), 'unsubscribed') end)`

export const columns = `e.id, e.event_id, e.type, e.direction, e.source, e.created_at, ${statusExpression} as status`

/** How a received event was verified. */
export interface Verification {
  /** The scheme's name. */
  readonly scheme: string
  /** Which secret of the source verified it, counted from 1. Custom schemes may omit it. */
  readonly secret?: number
  /** The time that the sender signed, in milliseconds since 1970. */
  readonly signedAt?: number
}

/**
 * The verification is stored with the headers of the event, which saves a column. The name of a header cannot contain a colon
 * (RFC 9110, section 5.1).
 */
export const verifiedName = ':verified'

/** Separates the stored headers from the verification. */
export function readStoredHeaders(json: string | null): {
  headers: Record<string, string>
  verification: Verification | undefined
} {
  const { [verifiedName]: verification, ...headers } = JSON.parse(json ?? '{}') as Record<string, unknown>
  return {
    headers: headers as Record<string, string>,
    verification: verification as Verification | undefined,
  }
}
