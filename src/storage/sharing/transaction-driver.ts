import type { CompiledQuery, QueryResult } from 'kysely'
import type { ClosingStatement } from '../lazy-transaction.ts'
import { mayRunAgain, StorageUnavailable } from '../unavailable.ts'

/** An open transaction of an engine, with one savepoint at a time. */
export interface TransactionDriver {
  /** Sets a savepoint. @throws TransactionEndedByStatement */
  savepoint(): void
  /** @param own whether it is a statement of the service, not one of the user's code. Default false. */
  run(query: CompiledQuery, own?: boolean): QueryResult<unknown> | Promise<QueryResult<unknown>>
  /**
   * Runs statements that return no rows, in any order. If one fails, it rejects, and it is unknown which of the others ran.
   * Only for engines that answer over a connection.
   */
  runTogether?(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]>
  /**
   * Releases the savepoint; `answered` tells whether a statement within it has been answered.
   * @throws when a statement failed and was not rolled back; TransactionEndedByStatement
   */
  releaseSavepoint(answered: boolean): void
  /** Rolls back to the savepoint and releases it. @throws TransactionEndedByStatement */
  rollbackToSavepoint(): void
  /** Ends what statements of the user's code may have changed besides rows: settings, temporary tables, locks of the session. */
  restore(): Promise<void>
  /**
   * Resolves when everything is durable.
   * @param closing a statement that is sent before the commit, and takes at most `within` milliseconds
   */
  commit(closing?: ClosingStatement, within?: number): Promise<void>
  /** Rolls everything back, in any state; `broken` if a statement is still running, or the commit has failed. Never throws. */
  rollback(broken?: boolean): Promise<void>
  /** Calls `listener` if the connection is lost before the end of the transaction. Only for engines that answer over a connection. */
  onLost?(listener: (error: unknown) => void): void
  /** Whether more urgent work waits for a lock that this transaction holds, so that it should end soon. */
  isContended(): boolean
}

/**
 * Opens a transaction. `group`, for a scope that is alone: the one with which it shares a limited number of connections. A statement of
 * a transaction without a group, which several scopes share, waits for a lock for a short time only: see `isConflict`.
 * @throws StorageUnavailable; the signal's reason, if it is aborted while no connection is free.
 */
export type OpenTransaction = (group: string | undefined, signal: AbortSignal) => Promise<TransactionDriver>

/** A commit that several scopes shared has failed, possibly because of one of them: each must be tried alone. */
export class SharedCommitFailed extends Error {
  constructor(cause: unknown) {
    super('the commit that this work shared with others has failed', { cause })
    this.name = 'SharedCommitFailed'
  }
}

/** The error for the scopes of a transaction that has failed. */
export function failureOf(alone: boolean, cause: unknown): Error {
  if (!alone && !(cause instanceof StorageUnavailable)) return new SharedCommitFailed(cause)
  return cause instanceof Error ? cause : new Error('the transaction has failed', { cause })
}

/** Whether a statement of a shared transaction failed because of another transaction, so that the same work may succeed alone. */
export function isConflict(error: unknown): boolean {
  // lock_not_available
  return mayRunAgain(error) || (error as { code?: unknown } | undefined)?.code === '55P03'
}

/** A statement, a trigger or the engine itself ended a transaction that scopes share. */
export class TransactionEndedByStatement extends Error {
  constructor() {
    super('a statement has ended the transaction; statements must not begin or end transactions')
    this.name = 'TransactionEndedByStatement'
  }
}
