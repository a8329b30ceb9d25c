import type { Random } from '../../runtime/clock.ts'

/** The breaker opens after this many failures in a row, over at least this many milliseconds. */
const opensAfter = { failures: 10, ms: 30_000 }
/** After so many milliseconds without a queue here, failures do not count: another process may have had successes since. */
const failuresExpireAfter = 600_000
/** Milliseconds between probes: the first pause, doubled by every failed probe up to the longest, which is a minute with its jitter. */
const pauses = { first: 5_000, longest: 50_000 }
/** Each pause varies by ±20 %, so that many subscribers behind one broken gateway are not probed at the same moment. */
const jitter = 0.2

/**
 * Holds deliveries back while a subscriber is down, so that they wait instead of using up their attempts. While the breaker is
 * open, one delivery at a time is sent as a probe. The first success closes it. It adds up how much time passed between its calls, so
 * that a pause does not become longer when the clock is set back.
 */
export class CircuitBreaker {
  readonly #random: Random
  #failures = 0
  /** Milliseconds since the first of the failures. */
  #failingFor = 0
  /** Milliseconds from one probe to the next; 0 while the breaker is closed. */
  #pause = 0
  /** Milliseconds until the next probe. */
  #probeIn = 0
  /** The time of the last call. */
  #now = 0
  #probing = false

  constructor(random: Random) {
    this.#random = random
  }

  get open(): boolean {
    return this.#pause > 0
  }

  /** Whether no failure followed the last success. */
  get healthy(): boolean {
    return this.#failures === 0
  }

  /** How many attempts may start: any number while the breaker is closed; else one probe when its time has come. */
  capacity(now: number): number {
    if (!this.open) return Number.POSITIVE_INFINITY
    this.#pass(now)
    return !this.#probing && this.#probeIn === 0 ? 1 : 0
  }

  /** Milliseconds until the next probe; `undefined` while the breaker is closed or a probe is in flight. */
  waitTime(now: number): number | undefined {
    this.#pass(now)
    return this.open && !this.#probing ? this.#probeIn : undefined
  }

  started(): void {
    this.#probing = this.open
  }

  /** Records a response that shows that the subscriber is up; refusals such as 400 count as well. */
  succeeded(): void {
    this.#failures = 0
    this.#pause = 0
    this.#probing = false
  }

  /** @param isProbe false for an attempt that started before the breaker opened */
  failed(now: number, isProbe: boolean): void {
    this.#pass(now)
    if (this.#failures === 0) this.#failingFor = 0
    this.#failures += 1
    if (this.open) {
      if (isProbe && this.#probing) this.#holdFor(Math.min(pauses.longest, this.#pause * 2))
    } else if (this.#failures >= opensAfter.failures && this.#failingFor >= opensAfter.ms) {
      this.#holdFor(pauses.first)
    }
  }

  /** Records an attempt that this process aborted, which tells nothing about the subscriber. */
  aborted(isProbe: boolean): void {
    if (isProbe) this.#probing = false
  }

  /** A new queue of the subscriber begins. */
  resumed(now: number): void {
    if (!this.open && now - this.#now >= failuresExpireAfter) this.#failures = 0
    this.#pass(now)
  }

  #pass(now: number): void {
    const passed = Math.max(0, now - this.#now)
    this.#failingFor += passed
    this.#probeIn = Math.max(0, this.#probeIn - passed)
    this.#now = now
  }

  #holdFor(pause: number): void {
    this.#pause = pause
    this.#probing = false
    this.#probeIn = pause * (1 - jitter + 2 * jitter * this.#random())
  }
}
