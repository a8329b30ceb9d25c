import { TransactionOver } from '../transaction-over.ts'
import type { Participant } from './participant.ts'
import type { SharedSavepointScope } from './savepoint-scope.ts'
import type { ScopedTransaction } from './scoped-transaction.ts'
import { failureOf } from './transaction-driver.ts'

/** A scope that waits for a turn of its own. */
interface WaitingForTurn<Note> {
  readonly scope: SharedSavepointScope<Note>
  readonly participant?: undefined
  readonly giveTurn: (transaction: ScopedTransaction<Note>) => void
  readonly fail: (error: unknown) => void
}

/** A scope that waits for a batch of statements. */
interface WaitingForBatch<Note> {
  readonly scope: SharedSavepointScope<Note>
  readonly participant: Participant<Note>
}

export type WaitingScope<Note> = WaitingForTurn<Note> | WaitingForBatch<Note>

/** The scopes that wait for a transaction, in the order in which they came. */
export class WaitingScopes<Note> {
  readonly #queue: WaitingScope<Note>[] = []

  get count(): number {
    return this.#queue.length
  }

  add(waiting: WaitingScope<Note>): void {
    this.#queue.push(waiting)
  }

  /** Makes a scope the first one again. */
  putBack(waiting: WaitingScope<Note>): void {
    this.#queue.unshift(waiting)
  }

  takeFirst(): WaitingScope<Note> | undefined {
    return this.#queue.shift()
  }

  /** Takes at most `most` participants that fit into a batch with `first`, which was taken already. */
  takeBatchable(first: Participant<Note>, most: number): Participant<Note>[] {
    const taken: Participant<Note>[] = []
    if (first.needsTurn) return taken
    const { length } = this.#queue
    for (let index = 0; index < length; index += 1) {
      const waiting = this.#queue.shift()!
      const { participant } = waiting
      if (!participant || participant.needsTurn || taken.length >= most) this.#queue.push(waiting)
      else taken.push(participant)
    }
    return taken
  }

  /** Removes a scope that was rolled back, if it waits here. */
  remove(scope: SharedSavepointScope<Note>): void {
    const place = this.#queue.findIndex((waiting) => waiting.scope === scope)
    if (place < 0) return
    const [waiting] = this.#queue.splice(place, 1)
    // A participant has rejected its statements itself.
    if (!waiting!.participant) waiting!.fail(new TransactionOver('rolled back'))
  }

  /** Removes all scopes, because no transaction could be opened. */
  failAll(error: unknown): void {
    for (const waiting of this.#queue.splice(0)) {
      const { participant } = waiting
      if (!participant) waiting.fail(error)
      else if (participant.pending) participant.pending.reject(error)
      else participant.fail(failureOf(false, error))
    }
  }
}
