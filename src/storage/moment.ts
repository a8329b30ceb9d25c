/** A point in time, from which the time that has passed is measured. */
export interface Moment {
  readonly steady: number
  readonly wall: number
}

/** Now, by both clocks of the machine. */
export function thisMoment(): Moment {
  return { steady: performance.now(), wall: Date.now() }
}

/**
 * Milliseconds since a moment. The steady clock knows no jumps, but stands still while the machine is suspended; the other one goes
 * on then. The larger one counts: what is trusted for a time is trusted too short rather than too long.
 */
export function millisecondsSince({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall)
}
