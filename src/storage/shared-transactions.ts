import type { ClosingStatement } from './transaction-over.ts'
import type { Tx } from './database.ts'
import type { HandlerCall } from '../runtime/call-context.ts'

/**
 * Why a scope ended. With `turn limit` and `conflict`, the same work may succeed alone: it took too long for a shared transaction, or
 * it waited too long for a lock there. With `connection lost`, the database is unavailable, or was for a moment.
 */
export type EndedBy = 'time limit' | 'turn limit' | 'conflict' | 'connection lost'

export interface ScopeOptions {
  /** Whether the scope gets a transaction of its own. */
  alone: boolean
  /** Milliseconds from the start of the scope's turn until it is rolled back. */
  timeLimit: number
  /** A shorter limit for scopes that share a transaction, because others wait for their turns. */
  turnLimit: number
  /** Called when the scope was rolled back for another reason than a call of `rollback`. */
  onEnd: (by: EndedBy) => void
  /**
   * Scopes of the same kind of work. On PostgreSQL, groups share a limited number of connections: while few are free, a group that has
   * a connection waits for groups that have none. Whether a scope will have a single statement is also predicted by group.
   */
  group: string
  /** For a scope that is alone: called within its transaction, before its first statement. */
  prepare?: (tx: Tx) => void | Promise<void>
}

/**
 * A unit of work in a savepoint of a transaction. It begins at its first query, so that slow work before that holds nothing. It
 * can be rolled back alone, and may be committed together with other scopes.
 */
export interface SavepointScope<Note> {
  readonly tx: Tx
  /** Whether it ended by `release`: then only a failure of its commit undoes it. */
  readonly released: boolean
  /** Whether it waits for its turn while other scopes use the database. */
  readonly isWaiting: boolean
  /** Milliseconds that it has waited for its turn. */
  readonly waited: number
  /** Milliseconds from the start of the scope's turn. */
  readonly took: number
  /**
   * Runs work that uses `tx`, so that waiting for a lock that this scope holds is an error instead of a deadlock. `call` is given if a
   * handler does the work.
   */
  within<T>(work: () => T, call?: HandlerCall): T
  /**
   * Ends the scope; its work waits for the commit. `committed` rejects with SharedCommitFailed if a transaction that it
   * shared failed, whichever scope caused that.
   */
  release(note: Note): Promise<{ committed: Promise<void> }>
  /** Rolls the scope back. Safe to call at any time, also after `release` or a failure: then it does nothing. */
  rollback(): Promise<void>
}

/** Transactions that scopes share. A scope that fails does not affect the others. */
export interface SharedTransactions<Note> {
  begin(options: ScopeOptions): SavepointScope<Note>
}

/**
 * Runs the last statements before a commit, for all scopes of the transaction, given the notes of their releases. Returns the
 * final statement if that is to be sent together with the commit.
 * @throws when the transaction must not commit.
 */
export type BeforeCommit<Note> = (tx: Tx, notes: readonly Note[]) => Promise<ClosingStatement | undefined>
