import type { CompiledQuery, QueryResult } from 'kysely'
import type { PendingCommit, ScopedTransaction } from './scoped-transaction.ts'
import type { StatementBatch } from './statement-batch.ts'

/** What a scope is notified of while it takes part in a batch of statements. */
export interface ParticipantEvents<Note> {
  /** Its batch has begun. */
  began(): void
  /** From now on it has the transaction to itself, within a savepoint of its own. */
  tookTurn(transaction: ScopedTransaction<Note>): void
  /** The transaction failed, or could not be opened. */
  failed(error: Error): void
}

/**
 * A scope in a batch of statements, with the only statement that it is expected to have, or without any. It waits in the queue, then
 * its batch begins, and then one of these ends its part: `commitWith`, `leave`, `giveTurn` (from then on the scope runs its statements
 * itself) or `fail`.
 */
export class Participant<Note> {
  readonly query: CompiledQuery | undefined
  /** The result of the statement, for the caller that sent it. */
  readonly answer: Promise<QueryResult<unknown>>
  /** The result that the caller has received. */
  reported: QueryResult<unknown> | undefined
  /** Set when the scope was released within the batch. */
  pending: PendingCommit<Note> | undefined
  /** Whether the scope was rolled back: none of its work is to be committed. */
  hasLeft = false
  /** Whether the scope has a second statement, so that the batch must be broken up. */
  needsTurn = false
  readonly #scope: ParticipantEvents<Note>
  #batch: StatementBatch<Note> | undefined
  readonly #answering = Promise.withResolvers<QueryResult<unknown>>()
  #turn: PromiseWithResolvers<void> | undefined

  constructor(scope: ParticipantEvents<Note>, query: CompiledQuery | undefined) {
    this.#scope = scope
    this.query = query
    this.answer = this.#answering.promise
  }

  /** Whether its batch has begun; before that, it is in the queue. */
  get hasBegun(): boolean {
    return this.#batch !== undefined
  }

  begin(batch: StatementBatch<Note>): void {
    this.#batch = batch
    this.#scope.began()
  }

  report(result: QueryResult<unknown>): void {
    this.reported = result
    this.#answering.resolve(result)
  }

  rejectStatement(error: unknown): void {
    this.#answering.reject(error)
  }

  giveTurn(transaction: ScopedTransaction<Note>): void {
    this.#scope.tookTurn(transaction)
    this.#turn?.resolve()
  }

  fail(error: Error): void {
    this.#scope.failed(error)
    this.#turn?.reject(error)
    if (this.query && !this.reported) this.#answering.reject(error)
  }

  /** The scope was released: its work waits for the commit. */
  commitWith(pending: PendingCommit<Note>): void {
    this.pending = pending
    this.#batch?.ended()
  }

  /** Resolves when the scope has the transaction to itself. */
  ownTurn(): Promise<void> {
    this.needsTurn = true
    this.#turn ??= Promise.withResolvers<void>()
    this.#batch?.breakUp()
    return this.#turn.promise
  }

  /**
   * The scope was rolled back.
   * @param isBusy whether its statement has no answer yet: then it cannot be rolled back alone, and the transaction fails
   */
  leave(isBusy: boolean, reason: unknown): void {
    this.hasLeft = true
    if (isBusy) this.rejectStatement(reason)
    // A second statement may still be waiting for a turn.
    this.#turn?.reject(reason)
    if (isBusy) this.#batch?.fail(reason)
    else this.#batch?.breakUp()
  }
}
