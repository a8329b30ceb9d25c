import type { CompiledQuery, QueryResult } from 'kysely'
import type { Batch } from './batch.ts'
import type { Group, Kept } from './group.ts'

/** What a part hears as a member of a batch. */
export interface MemberEvents<Note> {
  /** Its statement goes out now. */
  began(): void
  /** From now on it has the transaction to itself, within a savepoint of its own. */
  tookTurn(group: Group<Note>): void
  /** The transaction is no more. */
  failed(error: Error): void
  /** It does not want to be in a batch that has not begun. */
  left(): void
}

/** A part in a batch: with the one statement that it is expected to consist of, or with none. */
export class Member<Note> {
  readonly query: CompiledQuery | undefined
  /** What its statement did, for the one who sent it. */
  readonly answer: Promise<QueryResult<unknown>>
  /** What it was told that its statement did. */
  told: QueryResult<unknown> | undefined
  kept: Kept<Note> | undefined
  /** It has ended and nothing of it is to be committed. */
  gone = false
  /** It has more than one statement. */
  separate = false
  readonly #part: MemberEvents<Note>
  #batch: Batch<Note> | undefined
  readonly #answering = Promise.withResolvers<QueryResult<unknown>>()
  #turn: PromiseWithResolvers<void> | undefined

  constructor(part: MemberEvents<Note>, query: CompiledQuery | undefined) {
    this.#part = part
    this.query = query
    this.answer = this.#answering.promise
  }

  begin(batch: Batch<Note>): void {
    this.#batch = batch
    this.#part.began()
  }

  tell(result: QueryResult<unknown>): void {
    this.told = result
    this.#answering.resolve(result)
  }

  refuse(error: unknown): void {
    this.#answering.reject(error)
  }

  takeTurn(group: Group<Note>): void {
    this.#part.tookTurn(group)
    this.#turn?.resolve()
  }

  fail(error: Error): void {
    this.#part.failed(error)
    this.#turn?.reject(error)
    if (this.query && !this.told) this.#answering.reject(error)
  }

  keep(kept: Kept<Note>): void {
    this.kept = kept
    this.#batch?.ended()
  }

  /** Resolves when the part has the transaction to itself. */
  ownTurn(): Promise<void> {
    this.separate = true
    this.#turn ??= Promise.withResolvers<void>()
    this.#batch?.breakUp()
    return this.#turn.promise
  }

  /** @param busy whether its statement is under way: what waits for an answer cannot be undone */
  leave(busy: boolean, reason: unknown): void {
    this.gone = true
    if (busy) this.refuse(reason)
    // A second statement may still wait for a turn that no longer comes.
    this.#turn?.reject(reason)
    if (!this.#batch) this.#part.left()
    else if (busy) this.#batch.fail(reason)
    else this.#batch.breakUp()
  }
}
