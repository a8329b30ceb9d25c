import { SlotMap } from '../runtime/slot-map.ts'

/**
 * Says once to all who listen that what they do is to be broken off. As AbortSignal, for many at a time: adding a listener
 * there looks at all that are there already.
 */
export class AbortBroadcast {
  readonly #listeners = new SlotMap<(reason: Error) => void>()
  #reason: Error | undefined

  /** Why; `undefined` as long as it has not happened. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Throws the reason if that is what something ended with. */
  rethrowReason(error: unknown): void {
    const reason = this.#reason
    if (reason !== undefined && error === reason) throw reason
  }

  /** Returns the function that ends listening. */
  onAbort(listener: (reason: Error) => void): () => void {
    return this.#listeners.add(listener)
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    for (const listener of this.#listeners.all()) listener(this.#reason)
  }
}
