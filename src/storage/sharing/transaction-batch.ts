import type { TransactionDriver } from './transaction-driver.ts'

/** The work of a released scope, which waits for the commit. */
export interface PendingCommit<Note> {
  readonly note: Note
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A batch of statements that has the turn in a transaction. */
export interface BatchTurn<Note> {
  /** Ends the turn of a participant that had the transaction to itself; `pending` if its work waits for the commit. */
  endTurn(pending: PendingCommit<Note> | undefined): void
  /** The transaction failed: notifies the open participants, and adds the others to `TransactionBatch.pending`. */
  failed(error: unknown): void
}

/** The scopes of one transaction. Times are those of `Scheduler.elapsed`. */
export interface TransactionBatch<Note> {
  readonly driver: TransactionDriver
  /** Whether it belongs to one scope only. */
  readonly alone: boolean
  readonly pending: PendingCommit<Note>[]
  readonly since: number
  /** When the event loop last had a turn. */
  burst: number
  /** Savepoints so far. */
  savepoints: number
  /** The batch of statements that has the turn. */
  statements: BatchTurn<Note> | undefined
}

export function newTransactionBatch<Note>(
  driver: TransactionDriver,
  alone: boolean,
  since: number,
): TransactionBatch<Note> {
  return { driver, alone, pending: [], since, burst: since, savepoints: 0, statements: undefined }
}
