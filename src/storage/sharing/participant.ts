import type { CompiledQuery, QueryResult } from 'kysely'
import type { PendingCommit, TransactionBatch } from './transaction-batch.ts'

/** What a scope is notified of while it takes part in a batch of statements. */
export interface ParticipantEvents<Note> {
  /** Its statement is sent now. */
  began(): void
  /** From now on it has the transaction to itself, within a savepoint of its own. */
  tookTurn(transaction: TransactionBatch<Note>): void
  /** The transaction failed. */
  failed(error: Error): void
  /** It ended before its batch began. */
  leftQueue(): void
}

/** The batch of statements of a participant. */
interface ParticipantBatch {
  /** The participant waits for the commit. */
  ended(): void
  /** Runs all participants again, singly. */
  breakUp(): void
  fail(error: unknown): void
}

/** A scope in a batch of statements, with the only statement that it is expected to have, or without any. */
export class Participant<Note> {
  readonly query: CompiledQuery | undefined
  /** The result of the statement, for the caller that sent it. */
  readonly answer: Promise<QueryResult<unknown>>
  /** The result that the caller has received. */
  reported: QueryResult<unknown> | undefined
  pending: PendingCommit<Note> | undefined
  /** It ended, and none of its work is to be committed. */
  left = false
  /** It has more than one statement. */
  separate = false
  readonly #scope: ParticipantEvents<Note>
  #statements: ParticipantBatch | undefined
  readonly #answering = Promise.withResolvers<QueryResult<unknown>>()
  #turn: PromiseWithResolvers<void> | undefined

  constructor(scope: ParticipantEvents<Note>, query: CompiledQuery | undefined) {
    this.#scope = scope
    this.query = query
    this.answer = this.#answering.promise
  }

  begin(statements: ParticipantBatch): void {
    this.#statements = statements
    this.#scope.began()
  }

  report(result: QueryResult<unknown>): void {
    this.reported = result
    this.#answering.resolve(result)
  }

  rejectStatement(error: unknown): void {
    this.#answering.reject(error)
  }

  giveTurn(transaction: TransactionBatch<Note>): void {
    this.#scope.tookTurn(transaction)
    this.#turn?.resolve()
  }

  fail(error: Error): void {
    this.#scope.failed(error)
    this.#turn?.reject(error)
    if (this.query && !this.reported) this.#answering.reject(error)
  }

  /** Ends the participant: its work waits for the commit. */
  commitWith(pending: PendingCommit<Note>): void {
    this.pending = pending
    this.#statements?.ended()
  }

  /** Resolves when the scope has the transaction to itself. */
  ownTurn(): Promise<void> {
    this.separate = true
    this.#turn ??= Promise.withResolvers<void>()
    this.#statements?.breakUp()
    return this.#turn.promise
  }

  /** @param isBusy whether its statement has no answer yet: then it cannot be rolled back alone, and the transaction fails */
  leave(isBusy: boolean, reason: unknown): void {
    this.left = true
    if (isBusy) this.rejectStatement(reason)
    // A second statement may still be waiting for a turn.
    this.#turn?.reject(reason)
    if (!this.#statements) this.#scope.leftQueue()
    else if (isBusy) this.#statements.fail(reason)
    else this.#statements.breakUp()
  }
}
