import { SlotMap } from '../runtime/slot-map.ts'

type AbortCallback = (reason: Error) => void

/** What is under way, to be ended all at once. Cheaper than a signal that each attempt would listen to. */
export class AttemptRegistry {
  readonly #abortCallbacks = new SlotMap<AbortCallback>()
  #reason: Error | undefined

  /** Returns the function that takes it out again. @throws the reason, when all has been ended for good. */
  add(stop: AbortCallback): () => void {
    if (this.#reason) throw this.#reason
    return this.#abortCallbacks.add(stop)
  }

  /** Ends what is under way, and with `forGood` whatever comes later. */
  abortAll(reason: Error, forGood: boolean): void {
    if (forGood) this.#reason = reason
    for (const stop of this.#abortCallbacks.all()) stop(reason)
  }
}
