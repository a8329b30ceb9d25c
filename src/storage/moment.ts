/** A point in time, for measuring elapsed time. */
export interface Moment {
  readonly steady: number
  readonly wall: number
}

/** Now, by both clocks. */
export function thisMoment(): Moment {
  return { steady: performance.now(), wall: Date.now() }
}

/**
 * Milliseconds since a moment, by the clock that shows more. The steady clock never jumps, but stops while the machine is
 * suspended; the wall clock does not. So a time limit may end early, but never late.
 */
export function millisecondsSince({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall)
}
