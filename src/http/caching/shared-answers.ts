import { BoundedCache } from '../../paging/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'

interface Kept<Answer> {
  readonly at: number
  readonly answer: Promise<Answer>
}

/** Answers that are the same for all callers for some time: callers at once share one computation. */
export class SharedAnswers<Answer> {
  readonly #clock: Clock
  readonly #within: number
  readonly #kept = new BoundedCache<string, Kept<Answer> | undefined>(50)

  /** @param within milliseconds for which an answer is given again */
  constructor(clock: Clock, within: number) {
    this.#clock = clock
    this.#within = within
  }

  /** Returns the answer of `key`. A failure is not kept. */
  get(key: string, compute: () => Promise<Answer>): Promise<Answer> {
    const now = this.#clock.now()
    const kept = this.#kept.get(key)
    if (kept && Math.abs(now - kept.at) < this.#within) return kept.answer
    const made = { at: now, answer: compute() }
    this.#kept.set(key, made)
    made.answer.catch(() => {
      if (this.#kept.get(key) === made) this.#kept.set(key, undefined)
    })
    return made.answer
  }
}
