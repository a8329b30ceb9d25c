/** What one subscriber has under way in this process, and what its rate still allows. */
interface Lane {
  running: number
  /** Attempts at a time that its answers deserve: halved when none comes, doubled by each one. */
  trust: number
  tokens: number
  refilledAt: number
}

/** The subset of a subscriber that bounds it. */
export interface Bounds {
  id: string
  concurrency: number
  rate: number | undefined
}

/** More than any concurrency. */
const fullTrust = 1024

/**
 * Keeps every subscriber within its concurrency and its rate, so that none takes what others need. One that does not
 * answer soon gets a single attempt at a time: hundreds of those may hang and hold up nobody.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()

  /**
   * How many more attempts may begin now.
   * @param scarce whether there is little left for all together: then only who has nothing under way gets one
   */
  room({ id, concurrency, rate }: Bounds, now: number, scarce = false): number {
    const lane = this.#lanes.get(id)
    const free = Math.min(scarce ? 1 : concurrency, lane?.trust ?? fullTrust) - (lane?.running ?? 0)
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

  /** @param answered whether any answer came, be it a refusal */
  end({ id, rate }: Bounds, answered: boolean): void {
    const lane = this.#lanes.get(id)
    if (!lane) return
    lane.running -= 1
    lane.trust = answered
      ? Math.min(fullTrust, lane.trust * 2)
      : Math.max(1, Math.floor(Math.min(lane.trust, lane.running + 1) / 2))
    // A lane that remembers nothing is nothing when it is empty.
    if (lane.running <= 0 && rate === undefined && lane.trust === fullTrust) this.#lanes.delete(id)
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
    if (!lane) this.#lanes.set(id, (lane = { running: 0, trust: fullTrust, tokens, refilledAt: now }))
    return lane
  }
}
