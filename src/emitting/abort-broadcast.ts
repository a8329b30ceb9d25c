import { SlotMap } from '../runtime/slot-map.ts'

/**
 * Aborts many operations at once, as an AbortSignal does. An AbortSignal looks at all its listeners when one is added, which
 * costs too much for hundreds of attempts in flight.
 */
export class AbortBroadcast {
  readonly #listeners = new SlotMap<(reason: Error) => void>()
  #reason: Error | undefined

  /** Why the operations were aborted; `undefined` before that. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Throws the reason if an operation ended with it as its error. */
  rethrowReason(error: unknown): void {
    const reason = this.#reason
    if (reason !== undefined && error === reason) throw reason
  }

  /** Adds a listener. Returns a function that removes it. */
  onAbort(listener: (reason: Error) => void): () => void {
    return this.#listeners.add(listener)
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    for (const listener of this.#listeners.all()) listener(this.#reason)
  }
}
