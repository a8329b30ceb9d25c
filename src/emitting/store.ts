import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { ClaimListener } from '../storage/postgres/session/claimer.ts'
import type { Row } from '../storage/tables.ts'

/** A position in the order in which deliveries become due. A read returns what lies behind it. */
export interface DuePosition {
  dueAt: number
  id: number
}

/** Before all deliveries. */
export const startPosition: DuePosition = { dueAt: -1, id: 0 }

export type ReadRequest =
  | {
      subscriberId: string
      ordered: false
      /** True for retries, false for first attempts. */
      retries: boolean
      behind: DuePosition
      count: number
    }
  /** The pending delivery with the lowest id, if it is due. */
  | { subscriberId: string; ordered: true }

/** A delivery that this process may attempt while it owns the queue of the subscriber. */
export interface DueDelivery {
  id: number
  event: number
  subscriberId: string
  /** The number of the next attempt. A replay continues the numbers. */
  number: number
  /** Attempts since the delivery was created or last replayed, the next one included. */
  begun: number
  dueAt: number
  /** When the schedule's next attempt is due, if somebody asked for this one before that. */
  plannedAt?: number | null
  /** The nonce of its event: two deliveries with one id and different nonces are different. Null for events of older versions. */
  nonce: number | null
}

export interface AttemptRecord {
  at: number
  durationMs: number
  status: number | null
  error: string | null
  /** A FailureKind; null for a success. */
  failure: string | null
  /** JSON: Phases; null if no request was sent. */
  phases: string | null
  /** JSON. */
  requestHeaders: string
  /** JSON. */
  responseHeaders: string | null
  /** The beginning of the body that was sent, if it is not that of the event. */
  requestBody?: Uint8Array | undefined
  responseBody: Uint8Array | null
}

export interface Completion {
  delivery: Pick<DueDelivery, 'id' | 'number' | 'nonce'>
  status: 'pending' | 'delivered' | 'dead'
  dueAt: number
  finishedAt: number | null
  attempt: AttemptRecord
}

/** Subscribers with due deliveries. The next page starts behind `next`; `undefined` on the last page. */
export interface DueSubscribers {
  ids: string[]
  next: string | undefined
}

/**
 * The frequent statements of the dispatcher. A process claims the queue of a subscriber, not single deliveries. So one process at
 * a time attempts the deliveries of a subscriber and enforces its limits.
 */
export interface DeliveryStore {
  /** To be called before the first `claim`, and again if it failed. @throws StorageUnavailable */
  acquireSession(listener: ClaimListener): Promise<void>
  /** Subscribers behind `after`, by id, with due deliveries, whose queue no other process owns. The number of steps is bounded. */
  subscribersDue(now: number, after: string): Promise<DueSubscribers>
  /** Claims the queues of active subscribers. Returns the ids of those that this process owns now. */
  claim(subscriberIds: readonly string[]): Promise<string[]>
  release(subscriberIds: readonly string[]): Promise<void>
  activeSubscribers(subscriberIds: readonly string[]): Promise<Row<'subscribers'>[]>
  /** Due deliveries of queues that this process owns, the oldest first for each request. */
  readDue(requests: readonly ReadRequest[], now: number): Promise<DueDelivery[]>
  /**
   * The payloads of events, by their numbers.
   * @param longest bytes; longer payloads are left out
   */
  readPayloads(events: readonly number[], longest?: number): Promise<Map<number, EventPayload>>
  /**
   * Records attempts and their outcomes in one durable commit. If the former owner of the queue recorded an attempt with the same
   * number, only a success is still applied. Nothing is applied to a delivery with another nonce.
   */
  complete(completions: readonly Completion[]): Promise<void>
  /** The same within a transaction. Returns the ids of the deliveries to which an outcome was applied. */
  completeWithin(tx: Tx, completions: readonly Completion[]): Promise<ReadonlySet<number>>
  /**
   * Whether this process certainly still owns the queues that it claimed. If that is unknown, returns false and checks it; then the
   * listener of `acquireSession` gets `regained` or `lost`.
   */
  leaseValid(): boolean
  /** Releases all queues and ends the session. */
  releaseSession(): Promise<void>
  /**
   * When the oldest delivery became due that should be in flight. Deliveries that wait by intention do not count: of paused and
   * disabled subscribers, of those with a rate limit or with attempts in flight, and in the queues of other processes.
   * @param busy subscribers with attempts in flight in this process
   */
  oldestDue(now: number, busy: ReadonlySet<string>): Promise<number | undefined>
}

/** Subscribers with pending deliveries that one call of `subscribersDue` looks at. */
export const subscribersPerScan = 200

/** SQL for a `DueDelivery` of the row `d`, without its subscriber. */
export const dueColumns = `d.id, d.event, d.attempts + 1 as number, d.attempts + 1 - d.attempts_before as begun,
  d.due_at as "dueAt", d.nonce, d.planned_at as "plannedAt"`

/**
 * SQL for the time at which the next delivery of the subscriber `s` is due; for an ordered one, the pending delivery with the
 * lowest id. Two index seeks. Scalar subqueries, because PostgreSQL turns EXISTS into a join that reads all due deliveries.
 */
export function nextDue(engine: Database['engine']): string {
  // Without this hint, SQLite reads all deliveries of the subscriber to find the first pending one.
  const index = engine === 'sqlite' ? 'indexed by deliveries_in_order' : ''
  const pending = `d.subscriber_id = s.id and d.status = 'pending'`
  const first = (again: 0 | 1): string => `(select d.due_at from deliveries d
    where ${pending} and ${isRetry} = ${again} order by d.due_at, d.id limit 1)`
  return `case when s.ordered = 1
    then (select d.due_at from deliveries d ${index} where ${pending} order by ${inOrder[engine]} limit 1)
    else ${engine === 'sqlite' ? 'min' : 'least'}(coalesce(${first(0)}, ${never}), coalesce(${first(1)}, ${never})) end`
}

/** Later than every due time. */
const never = Number.MAX_SAFE_INTEGER

/** Order by id, in a form that only one index provides. SQLite is told which index to use. */
export const inOrder: Readonly<Record<Database['engine'], string>> = { sqlite: 'd.id', postgres: 'd.id + 0' }

/** Exactly the expression of the index, which separates first attempts from retries. */
export const isRetry = '(case when d.attempts > 0 then 1 else 0 end)'

export interface EventPayload {
  event_id: string
  type: string
  payload: Uint8Array
  /** The owner whose subscribers get it; null for subscribers without an owner, `*` for all. */
  audience: string | null
  /** Null for events of older versions. */
  nonce: number | null
  /** Headers that its deliveries carry, as JSON; null without any. */
  headers: string | null
}

/** A delivery that this process has just committed, with its payload. */
export interface CommittedDelivery {
  delivery: DueDelivery
  payload: EventPayload
  /** The generation before the delivery was inserted. A queue of a later generation may have read it from the table. */
  generation: number
}

/** The SQL that both engines share. */
export function activeSubscribersIn(db: Queryable): DeliveryStore['activeSubscribers'] {
  return (ids) =>
    db
      .selectFrom('subscribers')
      .selectAll()
      .where('status', '=', 'active')
      .where('id', 'in', [...ids])
      .execute()
}
