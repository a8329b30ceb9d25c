import type { InboxStatus } from '../storage/tables.ts'

/**
 * What became of an event. Received: `pending`, `retrying` (failed at least once, tried again by the schedule), `blocked`,
 * `processed` or `failed`. Emitted: `failed` when a delivery was given up,
 * else `pending` while one is not done, else `delivered`, else `cancelled`; `unsubscribed` when nobody was to get it.
 */
export type EventStatus = InboxStatus | 'retrying' | 'delivered' | 'cancelled' | 'unsubscribed'

export interface EventRow {
  id: number
  event_id: string
  type: string
  direction: 'received' | 'emitted'
  source: string | null
  created_at: number
  status: EventStatus
}

/** The statements of the event log that are hot, written for each engine. */
export interface EventStore {
  /** Events above `after` and up to `upTo`, in ascending order. */
  read(after: number, upTo: number, limit: number): Promise<EventRow[]>
  /** Events below `before` and up to `upTo`, in descending order. */
  readDown(before: number, upTo: number, limit: number): Promise<EventRow[]>
  /** The number up to which no event can appear any more: what is not there now never will be. */
  horizon(): Promise<number>
}

/** The status as SQL that both engines understand. Each look-up is one step into an index. */
export const statusExpression = `(case
  when e.direction = 'received' then (
    select case when i.status = 'pending' and i.failed_at is not null then 'retrying' else i.status end
    from inbox i where i.event = e.id)
  when exists (select 1 from deliveries d where d.event = e.id and d.status = 'dead') then 'failed'
  when exists (select 1 from deliveries d where d.event = e.id and d.status = 'pending') then 'pending'
  when exists (select 1 from deliveries d where d.event = e.id and d.status = 'delivered') then 'delivered'
  when exists (select 1 from deliveries d where d.event = e.id) then 'cancelled'
  else 'unsubscribed' end)`

export const columns = `e.id, e.event_id, e.type, e.direction, e.source, e.created_at, ${statusExpression} as status`
