import type { ClosingStatement } from '../storage/closing-statement.ts'
import type { Tx } from '../storage/database.ts'
import type { ClaimListener } from '../storage/postgres/session/claimer.ts'
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
  /** Attempts begun so far, this one included. */
  readonly attempts: number
  readonly attemptsBefore: number
  readonly orderKey: string | null
}

/** The events of one source and type, which share their handlers, that are not processed yet. */
export interface Kind {
  readonly source: string
  readonly type: string
}

export interface PendingKind extends Kind {
  /** When the earliest of them that nobody has a lease on is, or was, due. */
  readonly dueAt: number
}

/** So many events of a kind, under a lease until then; later others may claim them. */
export interface Wanted extends Kind {
  readonly count: number
  readonly until: number
}

/**
 * Events of a kind that are looked at, in the order in which they are due, for one that somebody works on: who claims takes
 * the first ones.
 */
export const mostLookedAt = 500

/** That a claimed event was processed at a time: what its marker says. */
export interface Mark {
  readonly event: number
  readonly claim: string
  readonly at: number
  readonly orderKey: string | null
}

/** The statements of the event queue that are hot or that lock, written for each engine. */
export interface EventQueue {
  /** How many calls of `insert` are worth having under way at once. */
  readonly commits: number
  /** The slots of handlers that declare a concurrency, where several processes share them. */
  readonly slots: SlotStore | undefined
  /**
   * Stores events durably: a row in the log and one in the event queue for each (source, event id) that is not there yet.
   * @param within on PostgreSQL, milliseconds that a statement of it may take; then its connection is given up. Default 10,000.
   * @throws StorageUnavailable
   */
  insert(events: readonly IncomingEvent[], within?: number): Promise<void>
  /** The kinds that have pending events that nobody has a lease on, in the order of source and type, behind `after`. */
  pendingKinds(after: Kind, limit: number, now: number): Promise<PendingKind[]>
  /** Which of the kinds have an event that somebody works on. */
  kindsAtWork(kinds: readonly Kind[], now: number): Promise<Kind[]>
  /**
   * Called once before the first claim, and again after it has failed: gives back at once what processes that are no more had claimed,
   * then and, on PostgreSQL, whenever another one dies.
   */
  attend(listener: ClaimListener): Promise<void>
  /**
   * Names a claim; whoever holds another one cannot write.
   * @throws StorageUnavailable while other processes could take the claimer for dead.
   */
  newClaim(): string
  /** Takes leases on events that are due, of each kind the oldest first, none that somebody else is just taking. */
  claim(wanted: readonly Wanted[], claim: string, now: number): Promise<ClaimedEvent[]>
  /**
   * Writes processed-event markers, and lets those go that waited for these events. Returns what of it is to go out with the commit.
   * @throws ClaimLost when one of the claims is held no more, as the returned statement does.
   */
  mark(tx: Tx, marks: readonly Mark[]): Promise<ClosingStatement | undefined>
  /**
   * Gives back all that is claimed in the name of this process, but these. Not where nobody can take the database back under the
   * process.
   * @throws StorageUnavailable
   */
  releaseAllBut?(held: readonly Pick<ClaimedEvent, 'event' | 'claim'>[]): Promise<void>
  /**
   * After the last claim has ended.
   * @param clean whether nothing is held any more; else other processes give it back, as after the end of a process
   */
  leave(clean: boolean): Promise<void>
  close(): Promise<void>
}
