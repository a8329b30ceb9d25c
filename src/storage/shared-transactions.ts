import type { ClosingStatement } from './transaction-over.ts'
import type { Tx } from './database.ts'
import type { SharedScope } from './sharing/savepoint-scope.ts'
import type { SharedTransactionQueue } from './sharing/shared-transaction-queue.ts'

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

/** What its user sees of a scope. */
export type SavepointScope<Note> = Pick<
  SharedScope<Note>,
  'tx' | 'released' | 'isWaiting' | 'waited' | 'took' | 'within' | 'release' | 'rollback'
>

/** Transactions that scopes share. A scope that fails does not affect the others. */
export type SharedTransactions<Note> = Pick<SharedTransactionQueue<Note>, 'begin'>

/**
 * Runs the last statements before a commit, for all scopes of the transaction, given the notes of their releases. Returns the
 * final statement if that is to be sent together with the commit.
 * @throws when the transaction must not commit.
 */
export type BeforeCommit<Note> = (tx: Tx, notes: readonly Note[]) => Promise<ClosingStatement | undefined>
