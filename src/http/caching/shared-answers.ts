import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'

interface Cached<Answer> {
  readonly at: number
  readonly answer: Promise<Answer>
}

/** Answers that are the same for all callers for some time: callers at once share one computation. */
export class SharedAnswers<Answer> {
  readonly #clock: Clock
  readonly #within: number
  readonly #cache = new BoundedCache<string, Cached<Answer> | undefined>(50)

  /** @param within milliseconds for which an answer is given again */
  constructor(clock: Clock, within: number) {
    this.#clock = clock
    this.#within = within
  }

  /** Returns the answer of `key`. A failure is not cached. */
  get(key: string, compute: () => Promise<Answer>): Promise<Answer> {
    const now = this.#clock.now()
    const cached = this.#cache.get(key)
    if (cached && Math.abs(now - cached.at) < this.#within) return cached.answer
    const made = { at: now, answer: compute() }
    this.#cache.set(key, made)
    made.answer.catch(() => {
      if (this.#cache.get(key) === made) this.#cache.set(key, undefined)
    })
    return made.answer
  }
}
