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
  /** A FailureKind; null when nothing failed. */
  failure: string | null
  /** JSON: Phases; null when nothing was sent. */
  phases: string | null
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
 * When the subscriber's next delivery is or was due, as one step into an index: of all that are pending, or of the first
 * one if they go in order. A scalar subquery, since PostgreSQL would turn EXISTS into a join that reads all that is due.
 */
function nextDue({ engine }: Database) {
  // Left to itself, SQLite reads the whole log of the subscriber for the first that is pending.
  const index = sql.raw(engine === 'sqlite' ? 'indexed by deliveries_in_order' : '')
  return sql<number>`case when subscribers.ordered = 1
    then (select d.due_at from deliveries d ${index} where d.subscriber_id = subscribers.id and d.status = 'pending' order by d.id limit 1)
    else (select min(d.due_at) from deliveries d where d.subscriber_id = subscribers.id and d.status = 'pending') end`
}

/** Active subscribers that have something due, by id, from after `after`. */
export function subscribersDue(
  database: Database,
  now: number,
  after: string,
  limit: number,
): Promise<SubscribersTable[]> {
  return database.reader
    .selectFrom('subscribers')
    .selectAll()
    .where('status', '=', 'active')
    .where('id', '>', after)
    .where(nextDue(database), '<=', now)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * When the oldest delivery that should be under way became due. Those of paused and disabled subscribers wait by
 * intention, and so do those behind a rate or behind attempts that are running: only what nobody looks at is overdue.
 */
export async function oldestDue(database: Database, now: number): Promise<number | undefined> {
  const running = sql`(select c.id from deliveries c where c.subscriber_id = subscribers.id and c.status = 'pending'
    and c.due_at > ${now} and c.claim is not null limit 1)`
  const due = nextDue(database)
  const row = await database.reader
    .selectFrom('subscribers')
    .select((eb) => eb.fn.min<number | null>(due).as('due'))
    .where('status', '=', 'active')
    .where('rate_limit', 'is', null)
    .where(due, '<=', now)
    .where(running, 'is', null)
    .executeTakeFirst()
  return row?.due ?? undefined
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
