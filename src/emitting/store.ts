import { sql } from 'kysely'
import type { Database, Queryable } from '../storage/database.ts'
import type { SubscribersTable } from '../storage/tables.ts'
import { postgresQueue } from './store.postgres.ts'
import { sqliteQueue } from './store.sqlite.ts'

/** How many deliveries of one subscriber are wanted, and until when they are leased. */
export interface Wanted {
  subscriberId: string
  count: number
  /** In the order of their ids, and only if the first that is pending is due. `count` is then 1. */
  ordered: boolean
  leaseUntil: number
}

/** A delivery that this process may attempt until its lease ends. */
export interface Claimed {
  id: number
  event: number
  subscriberId: string
  /** The number of this attempt; grows over replays. */
  number: number
  /** Attempts begun since the delivery was created or last replayed, this one included. */
  begun: number
  /** The fence: what is written later counts only while the row still carries it. */
  claim: string
}

export interface AttemptRecord {
  at: number
  durationMs: number
  status: number | null
  error: string | null
  /** JSON. */
  requestHeaders: string
  /** JSON. */
  responseHeaders: string | null
  responseBody: Uint8Array | null
}

/** How an attempt ended. */
export interface Completion {
  delivery: Claimed
  status: 'pending' | 'delivered' | 'dead'
  dueAt: number
  finishedAt: number | null
  attempt: AttemptRecord
}

/** The hot statements of the queue. Each call is one durable commit. */
export interface DeliveryQueue {
  /** Leases deliveries that are due. Two processes never get the same one. */
  claim(wanted: readonly Wanted[], now: number, claim: string): Promise<Claimed[]>
  /** Records attempts and ends leases. A lease that was lost in the meantime keeps its attempt and nothing else. */
  complete(completions: readonly Completion[]): Promise<void>
  /** Gives unfinished deliveries back, as if they had not been claimed. */
  giveBack(deliveries: readonly Claimed[], now: number): Promise<void>
}

export function openQueue(database: Database): DeliveryQueue {
  return database.engine === 'sqlite' ? sqliteQueue(database) : postgresQueue(database)
}

/**
 * The first due time of the subscriber's pending deliveries, as one step into deliveries_due. A scalar subquery, since
 * PostgreSQL would turn EXISTS into a join that reads everything that is due.
 */
const firstDue = sql<number>`(select min(d.due_at) from deliveries d where d.subscriber_id = subscribers.id and d.status = 'pending')`

/** Active subscribers that have something due, by id, from after `after`. */
export function subscribersDue(
  db: Queryable,
  now: number,
  after: string,
  limit: number,
): Promise<SubscribersTable[]> {
  return db
    .selectFrom('subscribers')
    .selectAll()
    .where('status', '=', 'active')
    .where('id', '>', after)
    .where(firstDue, '<=', now)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** When the oldest delivery that could be attempted now became due. Those of paused and disabled subscribers wait. */
export async function oldestDue(db: Queryable, now: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('subscribers')
    .select((eb) => eb.fn.min<number | null>(firstDue).as('due'))
    .where('status', '=', 'active')
    .executeTakeFirst()
  const due = row?.due ?? undefined
  return due !== undefined && due <= now ? due : undefined
}

export interface Payload {
  event_id: string
  type: string
  payload: Uint8Array
}

/** The payloads of events by their place in the log. */
export async function payloadsOf(db: Queryable, events: readonly number[]): Promise<Map<number, Payload>> {
  if (events.length === 0) return new Map()
  const rows = await db
    .selectFrom('events')
    .select(['id', 'event_id', 'type', 'payload'])
    .where('id', 'in', [...events])
    .execute()
  return new Map(rows.map(({ id, ...rest }) => [id, rest]))
}
