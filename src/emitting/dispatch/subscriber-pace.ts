import type { Random } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/shared-limit.ts'
import type { Endpoint } from './endpoints.ts'
import type { AttemptResult } from '../attempt/attempt.ts'

/** Greater than every concurrency: the window does not limit the subscriber. */
const maxWindow = 1024

/** What an exchange shows about the availability of a subscriber. */
export type ResponseClass =
  /** It responded, perhaps with a refusal. */
  | 'answered'
  /** It responded that it cannot serve: 408, 429 or 5xx. */
  | 'unavailable'
  | 'no-response'
  /** This process aborted the exchange. */
  | 'aborted'

export function classifyResponse({
  status,
  response,
}: Pick<AttemptResult, 'status' | 'response'>): ResponseClass {
  if (response !== undefined) return response
  if (status === null) return 'no-response'
  return status === 408 || status === 429 || status >= 500 ? 'unavailable' : 'answered'
}

type Limits = Pick<Endpoint, 'concurrency' | 'ordered' | 'rate'>

/**
 * How fast attempts of one subscriber may start: by its concurrency and rate, by a window that shrinks while it does not respond,
 * and by a circuit breaker while it is down. It outlives the subscriber's queue. Times are milliseconds since 1970.
 */
export class SubscriberPace {
  readonly breaker: CircuitBreaker
  /** How many attempts may be in flight: halved by each missing response, doubled by each received one. */
  #window = maxWindow
  /** Of the rate limit. */
  #bucket: TokenBucket | undefined
  /** Tokens per second when they were last added. Outlives the endpoint of a subscriber that is paused. */
  #rate: number | undefined

  constructor(random: Random) {
    this.breaker = new CircuitBreaker(random)
  }

  /** Whether responses were missing lately. */
  get unresponsive(): boolean {
    return this.#window < maxWindow
  }

  /** Whether no failure followed the last success. */
  get healthy(): boolean {
    return !this.unresponsive && this.breaker.healthy
  }

  /** Whether the rate limit allows no attempt now. A new pace would start with one. */
  mustWaitForRate(now: number): boolean {
    return this.#rate !== undefined && this.#addTokens(this.#rate, now) < 1
  }

  /** How many more attempts may start now, beside those in flight. */
  capacity(limits: Limits, inFlight: number, now: number): number {
    let capacity = Math.min(limits.concurrency, this.#window) - inFlight
    // The first delivery of an ordered queue blocks the others: its schedule already works like the pauses of the breaker.
    if (!limits.ordered) capacity = Math.min(capacity, this.breaker.capacity(now))
    if (limits.rate === undefined) return capacity
    return Math.min(capacity, Math.floor(this.#addTokens(limits.rate, now)))
  }

  /**
   * Milliseconds until the rate limit and the circuit breaker allow an attempt; `undefined` if neither blocks one, or if the end of
   * one in flight is what must come first.
   */
  waitTime(limits: Limits, inFlight: number, now: number): number | undefined {
    if (inFlight >= Math.min(limits.concurrency, this.#window)) return undefined
    const waits = [
      limits.ordered ? undefined : this.breaker.waitTime(now),
      limits.rate === undefined ? undefined : this.#waitForToken(limits.rate, now),
    ].filter((wait) => wait !== undefined)
    return waits.length === 0 ? undefined : Math.max(...waits)
  }

  /** The queue was dropped. A probe in flight must not hold the next queue back: its end does not start attempts of that one. */
  dropped(): void {
    this.breaker.aborted(true)
  }

  /** A new queue of the subscriber begins. Another process may have owned its queue since, and spent all tokens. */
  resumed(now: number): void {
    this.breaker.resumed(now)
    if (this.#rate !== undefined) this.#bucketOf(this.#rate, now).limitTo(1, this.#rate, now)
  }

  started(rate: number | undefined, now: number): void {
    this.breaker.started()
    if (rate !== undefined) this.#bucketOf(rate, now).spend(rate, now)
  }

  /**
   * @param inFlight the attempts in flight without this one
   * @param isProbe whether it was the probe of an open circuit breaker
   */
  ended(response: ResponseClass, inFlight: number, isProbe: boolean, now: number): void {
    if (response === 'aborted') return this.breaker.aborted(isProbe)
    if (response === 'answered') this.breaker.succeeded()
    else this.breaker.failed(now, isProbe)
    this.#window =
      response === 'no-response'
        ? Math.max(1, Math.floor(Math.min(this.#window, inFlight + 1) / 2))
        : Math.min(maxWindow, this.#window * 2)
  }

  #waitForToken(rate: number, now: number): number | undefined {
    const tokens = this.#addTokens(rate, now)
    return tokens >= 1 ? undefined : Math.ceil(((1 - tokens) / rate) * 1000)
  }

  #addTokens(rate: number, now: number): number {
    return this.#bucketOf(rate, now).fill(rate, now)
  }

  /** It starts with one token: the process that owned the queue before may have just spent all. */
  #bucketOf(rate: number, now: number): TokenBucket {
    this.#rate = rate
    return (this.#bucket ??= new TokenBucket(1, now))
  }
}

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
