import type { StatementBatch } from './statement-batch.ts'
import type { TransactionDriver } from './transaction-driver.ts'

/** The work of a released scope, which waits for the commit. */
export interface PendingCommit<Note> {
  readonly note: Note
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * An open transaction, in which scopes have their turns one after the other. One turn at a time: that of a scope, or of a batch of
 * statements, which gives turns to its participants if it is broken up. Times are those of `Scheduler.elapsed`.
 */
export interface ScopedTransaction<Note> {
  readonly driver: TransactionDriver
  /** Whether it belongs to one scope only. */
  readonly alone: boolean
  /** The released scopes. */
  readonly pending: PendingCommit<Note>[]
  readonly openedAt: number
  /** When the event loop last had a turn. */
  yieldedAt: number
  /** Savepoints so far. */
  savepoints: number
  /** The batch that has the turn. */
  batch: StatementBatch<Note> | undefined
}

export function newScopedTransaction<Note>(
  driver: TransactionDriver,
  alone: boolean,
  openedAt: number,
): ScopedTransaction<Note> {
  return { driver, alone, pending: [], openedAt, yieldedAt: openedAt, savepoints: 0, batch: undefined }
}
