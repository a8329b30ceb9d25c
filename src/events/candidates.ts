import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { Engine } from '../storage/query-runner.ts'
import type { EventQueueStatus } from '../storage/tables.ts'
import { kindConditions } from './conditions.ts'
import { statusDirections, type EventFilter } from './filter.ts'
import { isRetried } from './store.ts'

/** A source of event numbers in index order, for one kind of filter. */
export interface Candidates {
  /** SQL: a table, its indexed column, and the condition of the index. */
  from: RawBuilder<unknown>
  key: RawBuilder<unknown>
  where: RawBuilder<SqlBool>
  /** Further conditions that its index decides. */
  narrowed?: RawBuilder<SqlBool>[]
}

/** All events. */
export const wholeLog: Candidates = { from: sql`events e`, key: sql`e.id`, where: sql`true` }
const retryingReceived = (engine: Engine, narrowed: RawBuilder<SqlBool>[]): Candidates => ({
  from: byIndex(engine, 'event_queue', 'event_queue_retrying'),
  key: sql`event`,
  where: sql`status = 'pending' and failed_at is not null`,
  narrowed,
})
const retryingEmitted = (engine: Engine): Candidates => ({
  from: byIndex(engine, 'deliveries', 'deliveries_retrying_of_event'),
  key: sql`event`,
  where: sql.raw(isRetried('deliveries')),
})
const blocked: Candidates = { from: sql`event_queue`, key: sql`event`, where: sql`status = 'blocked'` }
const failedReceived = (engine: Engine, narrowed: RawBuilder<SqlBool>[]): Candidates => ({
  from: byIndex(engine, 'event_queue', 'event_queue_failed'),
  key: sql`event`,
  where: sql`status = 'failed'`,
  narrowed,
})
const failedEmitted: Candidates = { from: sql`deliveries`, key: sql`event`, where: sql`status = 'dead'` }

/** SQLite would take an index of more rows: that of all events of a source, or of all deliveries. */
function byIndex(engine: Engine, table: string, index: string): RawBuilder<unknown> {
  return engine === 'sqlite' ? sql`${sql.table(table)} indexed by ${sql.ref(index)}` : sql.table(table)
}

const queueStatuses = ['pending', 'blocked', 'processed', 'failed'] as const

/** Each status of an order key is in the order of the numbers. */
function withOrderKey(orderKey: string, status: EventQueueStatus): Candidates {
  const where = sql<SqlBool>`order_key = ${orderKey} and status = ${sql.lit(status)}`
  return { from: sql`event_queue`, key: sql`event`, where }
}

/** The index of received events begins with the source, and there are few sources. Ids of emitted events are unique. */
function withId(eventId: string): Candidates {
  const from = sql`(
    with recursive sources(source) as (
      select min(source) from event_queue
      union all
      select (select min(q.source) from event_queue q where q.source > sources.source) from sources where source is not null)
    select q.event from sources join event_queue q on q.source = sources.source and q.event_id = ${eventId}
    union all select event from idempotency_keys where event_id = ${eventId}) as found`
  return { from, key: sql`event`, where: sql`true` }
}

/** What the filter's best index has; several, if a status has several. */
export function candidatesOf(engine: Engine, filter: EventFilter): Candidates[] {
  const { status, orderKey, eventId, source } = filter
  // Only received events have a source or an order key.
  const isReceived = orderKey !== undefined || source !== undefined
  const wanted = [filter.direction, status && statusDirections[status], isReceived ? 'received' : undefined]
  const [direction, ...others] = new Set(wanted.filter((one) => one !== undefined))
  if (others.length > 0) return []
  if (eventId !== undefined) return [withId(eventId)]
  if (orderKey !== undefined) return queueStatuses.map((one) => withOrderKey(orderKey, one))
  if (status === 'blocked') return [blocked]
  const narrowed = kindConditions(filter, 'event_queue')
  if (status !== 'failed' && status !== 'retrying') return [wholeLog]
  const [received, emitted] =
    status === 'failed'
      ? [failedReceived(engine, narrowed), failedEmitted]
      : [retryingReceived(engine, narrowed), retryingEmitted(engine)]
  return [...(direction === 'emitted' ? [] : [received]), ...(direction === 'received' ? [] : [emitted])]
}
