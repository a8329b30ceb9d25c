import { SlotMap } from '../runtime/slot-map.ts'

type Stop = (reason: Error) => void

/** What is under way, to be ended all at once. Cheaper than a signal that each attempt would listen to. */
export class Stops {
  readonly #stops = new SlotMap<Stop>()
  #reason: Error | undefined

  /** Returns the function that takes it out again. @throws the reason, when all has been ended for good. */
  add(stop: Stop): () => void {
    if (this.#reason) throw this.#reason
    return this.#stops.add(stop)
  }

  /** Ends what is under way, and with `forGood` whatever comes later. */
  stop(reason: Error, forGood: boolean): void {
    if (forGood) this.#reason = reason
    for (const stop of this.#stops.all()) stop(reason)
  }
}
