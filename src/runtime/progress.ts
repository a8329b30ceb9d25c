import type { Clock } from './clock.ts'

/** When a worker last completed a round of its work with the database. */
export class Progress {
  readonly #clock: Clock
  #at: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records that the worker started, or that a round, or one statement of a round, succeeded. */
  made(): void {
    this.#at = this.#clock.now()
  }

  /**
   * Milliseconds since then; 0 for a worker that does not run in this process. After the clock was set, the difference counts until
   * the next round: otherwise a worker that stalls then would not be seen for as long as the clock was set back.
   */
  get age(): number {
    return this.#at === undefined ? 0 : Math.abs(this.#clock.now() - this.#at)
  }
}
