/** The state of a source's rate after an event. */
export interface RateTaken {
  readonly allowed: boolean
  /** Events that could follow at once. */
  readonly remaining: number
  /** Seconds until the next event is allowed; after an allowed event, until the whole rate is available again. */
  readonly wait: number
}

/**
 * Returns the cost of one event and the largest debt, in milliseconds. The debt allows a burst of one second's events.
 * @param perSecond above 0; below 1, the burst is one event.
 */
export function chargeOf(perSecond: number): { cost: number; credit: number } {
  const cost = 1000 / perSecond
  return { cost, credit: Math.max(1, Math.floor(perSecond)) * cost }
}

/**
 * The declared rate of a source: events per second, and a burst of one second's events. It is stored as the time that the accepted
 * events cost (the generic cell rate algorithm, ITU-T I.371).
 */
export class SourceRate {
  readonly limit: number
  /** Milliseconds that one event costs, and that can be owed. */
  readonly #cost: number
  readonly #credit: number
  #at = 0
  #owed = 0

  /** @param perSecond above 0; below 1, the burst is one event. */
  constructor(perSecond: number) {
    this.limit = perSecond
    const { cost, credit } = chargeOf(perSecond)
    this.#cost = cost
    this.#credit = credit
  }

  /** Takes one event at `now`, in milliseconds. A refused event costs nothing. */
  take(now: number): RateTaken {
    // The clock may have been set back, which must not block the source.
    const owed = Math.min(Math.max(0, this.#owed - (now - this.#at)), this.#credit)
    const over = owed + this.#cost - this.#credit
    // Tolerates the rounding of fractions.
    if (over > 1e-6) return { allowed: false, remaining: 0, wait: over / 1000 }
    this.#at = now
    this.#owed = owed + this.#cost
    const remaining = Math.floor((this.#credit - owed - this.#cost) / this.#cost + 1e-6)
    return { allowed: true, remaining, wait: (owed + this.#cost) / 1000 }
  }
}
