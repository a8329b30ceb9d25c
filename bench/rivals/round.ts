// What a rival's process is asked for, and the parts that all of them share.
import { sampleBody } from '../load/sample.ts'
import type { Payload } from '../process/orders.ts'

/** A backlog that is put into the rival's queue while nobody works on it, and then processed. */
export interface RivalRound<Tuning> {
  prefix: string
  count: number
  tuning: Tuning
}

const chunk = 1_000
/** Milliseconds after which a round has failed. */
const limit = 120_000

/** The parsed events of a round, so many at a time. */
export function* payloadsOf({ prefix, count }: RivalRound<unknown>): Generator<Payload[]> {
  for (let first = 0; first < count; first += chunk) {
    yield Array.from(
      { length: Math.min(chunk, count - first) },
      (_, index) =>
        JSON.parse(sampleBody({ id: `${prefix}-${first + index}`, type: 'order.paid' })) as Payload,
    )
  }
}

/** Counts down to the end of a round; the first error ends it too. */
export class Countdown {
  readonly ended: Promise<void>
  #left: number
  #resolve!: () => void
  #reject!: (error: Error) => void

  constructor(count: number) {
    this.#left = count
    this.ended = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${this.#left} of ${count} events were left`)), limit)
      this.#resolve = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#reject = (error: Error) => {
        clearTimeout(timer)
        reject(error)
      }
    })
    // It may fail before somebody waits for it.
    this.ended.catch(() => undefined)
  }

  done(count = 1): void {
    this.#left -= count
    if (this.#left <= 0) this.#resolve()
  }

  fail(error: Error): void {
    this.#reject(error)
  }
}
