import { sleep, type Clock } from '../clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { Completion, DeliveryQueue } from './store.ts'

/** Completions of one commit. */
const batch = 500
/** How long to wait before a write that failed is tried again, in milliseconds. */
const pause = 500

/**
 * Writes the ends of attempts in batches: while one commit runs, the next ones gather. A commit that fails is tried
 * again until `abandon`; the deliveries are then attempted once more.
 */
export class Completions {
  readonly #queue: DeliveryQueue
  readonly #clock: Clock
  readonly #log: Log
  #waiting: { completion: Completion; done: () => void }[] = []
  #writing = false
  readonly #abandoned = new AbortController()

  constructor(queue: DeliveryQueue, clock: Clock, log: Log) {
    this.#queue = queue
    this.#clock = clock
    this.#log = log
  }

  /** Resolves when the completion is durable, or when all are abandoned. */
  add(completion: Completion): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ completion, done: resolve })
      if (!this.#writing) void this.#write()
    })
  }

  /** Ends the retries of a write that fails. */
  abandon(): void {
    this.#abandoned.abort()
  }

  async #write(): Promise<void> {
    this.#writing = true
    // What completes in this same turn of the loop shares the first commit.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const batched = this.#waiting.splice(0, batch)
      await this.#persist(batched.map(({ completion }) => completion))
      for (const { done } of batched) done()
    }
    this.#writing = false
  }

  async #persist(completions: Completion[]): Promise<void> {
    for (;;) {
      try {
        await this.#queue.complete(completions)
        return
      } catch (error) {
        const { aborted } = this.#abandoned.signal
        this.#log.error(
          { err: error, deliveries: completions.length },
          aborted ? 'attempts could not be recorded' : 'attempts could not be recorded; trying again',
        )
        if (aborted) return
        // Abandoned while waiting: one last try.
        await sleep(this.#clock, pause, this.#abandoned.signal).catch(() => undefined)
      }
    }
  }
}
