/**
 * A rate per second that allows a burst of one second's, and of one at a rate below one. Times are milliseconds; a clock that is set
 * back adds no tokens, and blocks nobody for longer than the rate does.
 */
export class TokenBucket {
  #tokens: number
  #at: number

  /** @param tokens at `now` */
  constructor(tokens: number, now: number) {
    this.#tokens = tokens
    this.#at = now
  }

  /** The tokens at `now`. The rate may be another one each time. */
  fill(perSecond: number, now: number): number {
    const gained = (Math.max(0, now - this.#at) / 1000) * perSecond
    this.#tokens = Math.min(burstOf(perSecond), this.#tokens + gained)
    this.#at = now
    return this.#tokens
  }

  /** Takes one of the tokens at `now`, which may be missing. Returns the rest. */
  spend(perSecond: number, now: number): number {
    return (this.#tokens = this.fill(perSecond, now) - 1)
  }

  /** Removes the tokens at `now` beyond `most`. */
  limitTo(most: number, perSecond: number, now: number): void {
    this.#tokens = Math.min(most, this.fill(perSecond, now))
  }
}

export function burstOf(perSecond: number): number {
  return Math.max(1, perSecond)
}
