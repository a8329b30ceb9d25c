import type { CompiledQuery } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type { Engine } from '../query-runner.ts'
import type { Participant } from './participant.ts'
import type { SharedSavepointScope } from './savepoint-scope.ts'
import type { PendingCommit, ScopedTransaction } from './scoped-transaction.ts'

/** What scopes ask for their turns. */
export interface ScopeHost<Note> {
  readonly engine: Engine
  readonly scheduler: Scheduler
  /** Resolves when the scope has a transaction to itself, inside a savepoint. */
  turnFor(scope: SharedSavepointScope<Note>): Promise<ScopedTransaction<Note>>
  /** Whether the scope is expected to consist of only this statement, or of none. */
  mayBatch(scope: SharedSavepointScope<Note>, query: CompiledQuery | undefined): boolean
  /** Queues the scope for a batch of statements. */
  joinBatch(scope: SharedSavepointScope<Note>, participant: Participant<Note>): void
  /** Removes the scope from the queue. */
  leaveQueue(scope: SharedSavepointScope<Note>): void
  /** Records that a scope ended, and whether it committed with at most one statement, so that the next one of its group may be batched. */
  noteEnd(scope: SharedSavepointScope<Note>, single: boolean): void
  /** Ends the turn of a scope; `pending` if its work waits for the commit. */
  turnEnded(transaction: ScopedTransaction<Note>, pending?: PendingCommit<Note>): void
  /** Ends a transaction that cannot continue. */
  fail(transaction: ScopedTransaction<Note>, error: unknown): void
}
