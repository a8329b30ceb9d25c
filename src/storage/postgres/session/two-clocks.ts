import type { Clock, Scheduler } from '../../../runtime/clock.ts'

/** A time by both clocks: the wall clock can be set, and the steady clock may stop while the machine sleeps. */
export interface Instant {
  now: number
  elapsed: number
}

export const never: Instant = { now: -Infinity, elapsed: -Infinity }

/** Measures periods by the wall clock and the steady clock. */
export class TwoClocks {
  readonly #clock: Clock
  /** Milliseconds by the steady clock. */
  readonly elapsed: Scheduler['elapsed']

  constructor(clock: Clock, elapsed: Scheduler['elapsed']) {
    this.#clock = clock
    this.elapsed = elapsed
  }

  instant(): Instant {
    return { now: this.#clock.now(), elapsed: this.elapsed() }
  }

  /** Milliseconds since `instant`, by the clock that shows more. */
  since({ now, elapsed }: Instant): number {
    return Math.max(this.#clock.now() - now, this.elapsed() - elapsed)
  }
}
