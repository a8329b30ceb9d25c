import type { Tx } from '../storage/database.ts'
import type { IncomingEvent } from './incoming.ts'

/** An event that a worker holds a lease on. Times are milliseconds since 1970. */
export interface ClaimedEvent {
  /** The number in the event log. */
  readonly event: number
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
}

export interface Claim {
  /** Names this claim; whoever holds another one cannot write. */
  claim: string
  now: number
  /** When the lease ends and others may claim the event. */
  until: number
  limit: number
}

/** The statements of the inbox that are hot or that lock, written for each engine. */
export interface InboxStore {
  /** How many calls of `keep` are worth having under way at once. */
  readonly commits: number
  /**
   * Stores events durably: a row in the log and one in the inbox for each (source, event id) that is not there yet.
   * @throws StorageUnavailable
   */
  keep(events: readonly IncomingEvent[]): Promise<void>
  /** Takes leases on events that are due, oldest first, none that somebody else is just taking. */
  claim(claim: Claim): Promise<ClaimedEvent[]>
  /** Writes the processed-event marker, and tells whether the claim still held: otherwise nothing is written. */
  markProcessed(tx: Tx, event: number, claim: string, now: number): Promise<boolean>
  /** Gives back at once what a process that is no more had claimed, where it can be known. */
  recover(now: number): Promise<void>
  close(): Promise<void>
}
