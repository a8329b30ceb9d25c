import type { Random } from '../runtime/clock.ts'

/** So many failures in a row, over so many milliseconds, and a subscriber counts as down. */
const failuresToOpen = 10
const failingToOpen = 30_000
/** Milliseconds from one probe to the next: the first pause, doubled by every probe that fails up to the longest. */
const firstPause = 5_000
const longestPause = 60_000
/** Pauses are spread by ±20 %, so that many subscribers behind one broken gateway are not probed together. */
const spread = 0.2

/**
 * Holds deliveries back from a subscriber that is down, so that they wait instead of using up their attempts. While it is
 * open, one delivery at a time goes out as a probe; the first that gets through closes it.
 */
export class CircuitBreaker {
  readonly #random: Random
  #failures = 0
  #failingSince = 0
  #pause = 0
  #probeAt = 0
  #probing = false

  constructor(random: Random) {
    this.#random = random
  }

  get open(): boolean {
    return this.#pause > 0
  }

  /** Whether it knows of no failure. */
  get healthy(): boolean {
    return this.#failures === 0
  }

  /** How many attempts may begin: any number while it is closed, else a probe when it is time for one. */
  capacity(now: number): number {
    if (!this.open) return Number.POSITIVE_INFINITY
    return !this.#probing && now >= this.#probeAt ? 1 : 0
  }

  /** Milliseconds until the next probe; `undefined` while it is closed, or a probe is under way. */
  waitTime(now: number): number | undefined {
    return this.open && !this.#probing ? Math.max(0, this.#probeAt - now) : undefined
  }

  started(): void {
    this.#probing = this.open
  }

  /** An attempt got through: an answer that does not say that the subscriber is down, be it a refusal. */
  succeeded(): void {
    this.#failures = 0
    this.#pause = 0
    this.#probing = false
  }

  failed(now: number): void {
    if (this.#failures === 0) this.#failingSince = now
    this.#failures += 1
    if (this.open) {
      // What was under way when it opened is no probe.
      if (this.#probing) this.#hold(now, Math.min(longestPause, this.#pause * 2))
    } else if (this.#failures >= failuresToOpen && now - this.#failingSince >= failingToOpen) {
      this.#hold(now, firstPause)
    }
  }

  /** An attempt was broken off: it says nothing. */
  aborted(): void {
    this.#probing = false
  }

  #hold(now: number, pause: number): void {
    this.#pause = pause
    this.#probing = false
    this.#probeAt = now + pause * (1 - spread + 2 * spread * this.#random())
  }
}
