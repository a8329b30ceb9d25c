import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { ClaimListener } from '../storage/postgres/claimer.ts'
import type { SubscribersTable } from '../storage/tables.ts'

/** A place in the order in which deliveries become due; what is read next lies behind it. */
export interface DuePosition {
  dueAt: number
  id: number
}

/** The first of all places. */
export const startPosition: DuePosition = { dueAt: -1, id: 0 }

/** What is wanted of one subscriber. */
export type ReadRequest =
  | {
      subscriberId: string
      ordered: false
      /** First attempts, or retries. */
      retries: boolean
      behind: DuePosition
      count: number
    }
  /** The first that is pending, by the order of ids, if it is due. */
  | { subscriberId: string; ordered: true }

/** A delivery that this process may attempt, for as long as its subscriber's lane is this process's. */
export interface ClaimedDelivery {
  id: number
  event: number
  subscriberId: string
  /** The number of this attempt; grows over replays. */
  number: number
  /** Attempts since the delivery was created or last replayed, this one included. */
  begun: number
  dueAt: number
  /** That of its event: a delivery of the same id and another nonce is another one. Null for those of older versions. */
  nonce: number | null
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
  delivery: Pick<ClaimedDelivery, 'id' | 'number' | 'nonce'>
  status: 'pending' | 'delivered' | 'dead'
  dueAt: number
  finishedAt: number | null
  attempt: AttemptRecord
}

/** Subscribers that have something due, and where the look for more goes on; `undefined` at the end. */
export interface DueSubscribers {
  ids: string[]
  next: string | undefined
}

/**
 * The hot statements of the queue. What a subscriber is to get lies in its lane, and a lane is one process's at a time: so
 * deliveries are not claimed one by one, and what bounds a subscriber needs to be known to one process only.
 */
export interface DeliveryStore {
  /** Called once before the first `take`, and again after it has failed. @throws StorageUnavailable */
  acquireSession(listener: ClaimListener): Promise<void>
  /** Subscribers with due work whose lanes are nobody's or our own, by id, behind `after`. A bounded number of steps. */
  subscribersDue(now: number, after: string): Promise<DueSubscribers>
  /** Takes the lanes of active subscribers that are nobody's. Returns those that are ours now. */
  claim(subscriberIds: readonly string[]): Promise<string[]>
  /** Lets the lanes go. */
  release(subscriberIds: readonly string[]): Promise<void>
  /** Those of the subscribers that are active. */
  activeSubscribers(subscriberIds: readonly string[]): Promise<SubscribersTable[]>
  /** What is due in lanes of ours, each the oldest first. */
  readDue(wanted: readonly ReadRequest[], now: number): Promise<ClaimedDelivery[]>
  /**
   * The payloads of events by their place in the log.
   * @param longest longer ones are left out, in bytes
   */
  readPayloads(events: readonly number[], longest?: number): Promise<Map<number, EventPayload>>
  /**
   * Records attempts and what follows from them, in one durable commit. When an attempt of the same number was written down
   * before, by the process that had the lane then, only a success still counts. Nothing counts for a delivery that is another one by now.
   */
  complete(completions: readonly Completion[]): Promise<void>
  /** The same within a transaction. Returns the ids of those deliveries whose attempts count. */
  completeWithin(tx: Tx, completions: readonly Completion[]): Promise<ReadonlySet<number>>
  /**
   * Whether the lanes that were taken are still ours, at this very moment. False when nobody knows: then it is found out, and
   * the listener of `attend` hears of it, by `regained` or by `lost`.
   */
  leaseValid(): boolean
  /** Lets all lanes go, at the end. */
  releaseSession(): Promise<void>
  /**
   * When the oldest delivery that should be under way became due. Those of paused and disabled subscribers wait by
   * intention, and so do those behind a rate, behind attempts that are running, or in another process's lane: only what
   * nobody looks at is overdue.
   * @param busy subscribers that have attempts running in this process
   */
  oldestDue(now: number, busy: ReadonlySet<string>): Promise<number | undefined>
}

/** Subscribers that one call of `due` looks at, at most: those with something pending. */
export const subscribersPerScan = 200

export function claimedDelivery(
  id: number,
  event: number,
  subscriberId: string,
  attempts: number,
  attemptsBefore: number,
  dueAt: number,
  nonce: number | null,
): ClaimedDelivery {
  return { id, event, subscriberId, number: attempts + 1, begun: attempts + 1 - attemptsBefore, dueAt, nonce }
}

/**
 * When the subscriber's next delivery is or was due, in two steps into an index: of all that are pending, or of the first
 * one if they go in order. Scalar subqueries, since PostgreSQL would turn EXISTS into a join that reads all that is due.
 */
export function nextDue(engine: Database['engine']): string {
  // Left to itself, SQLite reads the whole log of the subscriber for the first that is pending.
  const index = engine === 'sqlite' ? 'indexed by deliveries_in_order' : ''
  const pending = `d.subscriber_id = s.id and d.status = 'pending'`
  const first = (again: 0 | 1): string => `(select d.due_at from deliveries d
    where ${pending} and ${isRetry} = ${again} order by d.due_at, d.id limit 1)`
  return `case when s.ordered = 1
    then (select d.due_at from deliveries d ${index} where ${pending} order by ${inOrder[engine]} limit 1)
    else ${engine === 'sqlite' ? 'min' : 'least'}(coalesce(${first(0)}, ${never}), coalesce(${first(1)}, ${never})) end`
}

/** Later than anything is due. */
const never = Number.MAX_SAFE_INTEGER

/** By ids, as one index has it and no other; SQLite is told which to take. */
export const inOrder: Readonly<Record<Database['engine'], string>> = { sqlite: 'd.id', postgres: 'd.id + 0' }

/** As the index has it: first attempts and retries are sought apart. */
export const isRetry = '(case when d.attempts > 0 then 1 else 0 end)'

export interface EventPayload {
  event_id: string
  type: string
  payload: Uint8Array
  /** The owner whose subscribers it is for; null for those without one, `*` for all. */
  audience: string | null
  /** That of its event; null for events of older versions. */
  nonce: number | null
}

/** A delivery that this process has just made, with what it sends. */
export interface CommittedDelivery {
  delivery: ClaimedDelivery
  payload: EventPayload
  /** What `generation` was before the delivery was inserted: a lane that was made since may have read it. */
  generation: number
}

/** The same on both engines. */
export function activeSubscribersIn(db: Queryable): DeliveryStore['activeSubscribers'] {
  return (ids) =>
    db
      .selectFrom('subscribers')
      .selectAll()
      .where('status', '=', 'active')
      .where('id', 'in', [...ids])
      .execute()
}
