import type { ClosingStatement } from '../../storage/closing-statement.ts'
import type { Tx } from '../../storage/database.ts'
import type { ClaimListener } from '../../storage/postgres/session/claimer.ts'
import type { ClaimInserts, InsertLeases } from './insert-claims.ts'
import type { SlotStore } from './slot-store.ts'
import type { IncomingEvent } from './incoming.ts'

/** An event that a worker holds a lease on. Times are milliseconds since 1970. */
export interface ClaimedEvent {
  /** The number in the event log. */
  readonly event: number
  /** Whose lease it is. */
  readonly claim: string
  readonly source: string
  readonly eventId: string
  readonly type: string
  readonly payload: Uint8Array
  /** JSON. */
  readonly headers: string | null
  readonly receivedAt: number
  /** The number of the attempt that this claim is for, from 1. */
  readonly attempts: number
  /** Attempts before it was last reprocessed: the retry schedule does not count them. */
  readonly attemptsBefore: number
  readonly orderKey: string | null
}

/** A source and an event type. Their events have the same handlers. */
export interface Kind {
  readonly source: string
  readonly type: string
}

export interface PendingKind extends Kind {
  /** The earliest due time of its pending events without a valid lease. */
  readonly dueAt: number
}

/** A request to claim up to `count` events of a kind, leased until `until`. */
export interface ClaimRequest extends Kind {
  readonly count: number
  readonly until: number
}

/**
 * Events of a kind, in the order of their due times, among which a leased one is looked for. Claims take the earliest events, and
 * inserts claim only while no event waits, so a leased one is among the first of a backlog.
 */
export const mostLookedAt = 500

/** The marker of a processed event. `at` is in milliseconds since 1970. */
export interface ProcessedMarker {
  readonly event: number
  readonly claim: string
  readonly at: number
  readonly orderKey: string | null
}

export type InsertClaiming = (
  events: readonly IncomingEvent[],
  leases?: InsertLeases,
  within?: number,
) => Promise<readonly ClaimedEvent[]>

/** The hot and the locking statements of the event queue. Each engine has its own implementation. */
export interface EventQueue {
  /** Calls of `insert` that should run at once. */
  readonly commits: number
  /** The slots of handlers that declare a concurrency, where several processes share them. */
  readonly slots: SlotStore | undefined
  /**
   * Stores events durably: a row in the log and one in the event queue for each (source, event id) that is not stored yet.
   * @param within on PostgreSQL, the time limit of each statement in milliseconds, after which its connection is closed. Default 10,000.
   * @throws StorageUnavailable
   */
  insert(events: readonly IncomingEvent[], within?: number): Promise<void>
  /**
   * On SQLite: checks that the spool beside the database can be read. Without it no event is stored, because a later one could
   * overtake those in it.
   * @throws StorageUnavailable
   */
  checkSpool?(): Promise<void>
  /**
   * As `insert`, and claims the events of `leases` that are new. May claim none. Only on PostgreSQL: it saves two round trips and a
   * version of the row.
   */
  insertClaiming?: InsertClaiming
  /** From now on, events that `choose` names are claimed by the statement that inserts them, where the engine can do that. */
  claimInserts?(choose: ClaimInserts): void
  /** The kinds after `after`, in the order of source and type, that have pending events without a valid lease. */
  pendingKinds(after: Kind, limit: number, now: number): Promise<PendingKind[]>
  /** The kinds of which an event is leased. */
  kindsAtWork(kinds: readonly Kind[], now: number): Promise<Kind[]>
  /**
   * Must be called before the first claim, and again if it fails. Releases the claims of processes that have ended; on PostgreSQL
   * also those of each process that ends later.
   */
  acquireSession(listener: ClaimListener): Promise<void>
  /**
   * Returns the id of a new claim. Writes for an event must name the claim that holds it.
   * @throws StorageUnavailable while other processes could consider this one dead
   */
  newClaim(): string
  /** Leases due events, the earliest of each kind first. Skips events that another process is claiming. */
  claim(wanted: readonly ClaimRequest[], claim: string, now: number): Promise<ClaimedEvent[]>
  /**
   * Marks events as processed, and makes the next events of their order keys pending. A returned statement must be sent with the
   * commit.
   * @throws ClaimLost if another claim holds one of the events; the returned statement may fail with it too
   */
  markProcessed(tx: Tx, marks: readonly ProcessedMarker[]): Promise<ClosingStatement | undefined>
  /**
   * Releases all claims of this process except `held`: a database that was restored to an earlier state may hold claims that this
   * process has ended. Only on PostgreSQL; nothing can restore an SQLite file under a running process.
   * @throws StorageUnavailable
   */
  releaseAllBut?(held: readonly Pick<ClaimedEvent, 'event' | 'claim'>[]): Promise<void>
  /**
   * Must be called after the last claim has ended.
   * @param clean whether this process holds no event; otherwise other processes release its events, as those of a process that died
   */
  releaseSession(clean: boolean): Promise<void>
  close(): Promise<void>
}
