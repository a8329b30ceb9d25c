/** What one subscriber has under way in this process, and what its rate still allows. */
interface Lane {
  running: number
  tokens: number
  refilledAt: number
}

/** The subset of a subscriber that bounds it. */
export interface Bounds {
  id: string
  concurrency: number
  rate: number | undefined
}

/** Keeps every subscriber within its concurrency and its rate, so that none takes what others need. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()

  /** How many more attempts may begin now. */
  room({ id, concurrency, rate }: Bounds, now: number): number {
    const lane = this.#lanes.get(id)
    const free = concurrency - (lane?.running ?? 0)
    return rate === undefined ? free : Math.min(free, Math.floor(this.#refill(id, rate, now).tokens))
  }

  /** Milliseconds until the rate allows another attempt; `undefined` when not the rate is what holds it up. */
  waitForRate({ id, rate }: Bounds, now: number): number | undefined {
    if (rate === undefined) return undefined
    const { tokens } = this.#refill(id, rate, now)
    return tokens >= 1 ? undefined : Math.ceil(((1 - tokens) / rate) * 1000)
  }

  begin({ id, rate }: Bounds, now: number): void {
    const lane = rate === undefined ? this.#of(id, 0, now) : this.#refill(id, rate, now)
    lane.running += 1
    if (rate !== undefined) lane.tokens -= 1
  }

  end({ id, rate }: Bounds): void {
    const lane = this.#lanes.get(id)
    if (!lane) return
    lane.running -= 1
    // A lane with a rate remembers what it spent; the others are nothing when they are empty.
    if (lane.running <= 0 && rate === undefined) this.#lanes.delete(id)
  }

  /** Tokens come back at `rate` per second; at most one second's worth is saved up. */
  #refill(id: string, rate: number, now: number): Lane {
    const most = Math.max(1, rate)
    const lane = this.#of(id, most, now)
    lane.tokens = Math.min(most, lane.tokens + (Math.max(0, now - lane.refilledAt) / 1000) * rate)
    lane.refilledAt = now
    return lane
  }

  #of(id: string, tokens: number, now: number): Lane {
    let lane = this.#lanes.get(id)
    if (!lane) this.#lanes.set(id, (lane = { running: 0, tokens, refilledAt: now }))
    return lane
  }
}
