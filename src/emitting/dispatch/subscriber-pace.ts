import type { Random } from '../../runtime/clock.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Destination } from './destinations.ts'
import type { AttemptRecord } from '../store.ts'

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

export function classifyResponse({ status }: Pick<AttemptRecord, 'status'>): ResponseClass {
  if (status === null) return 'no-response'
  return status === 408 || status === 429 || status >= 500 ? 'unavailable' : 'answered'
}

type Limits = Pick<Destination, 'concurrency' | 'ordered' | 'rate'>

/**
 * How fast attempts of one subscriber may start: by its concurrency and rate, by a window that shrinks while it does not respond,
 * and by a circuit breaker while it is down. It outlives the subscriber's queue. Times are milliseconds since 1970.
 */
export class SubscriberPace {
  readonly breaker: CircuitBreaker
  /** How many attempts may be in flight: halved by each missing response, doubled by each received one. */
  #window = maxWindow
  /** Of the token bucket for the rate limit. */
  #tokens: number | undefined
  #tokensAt = 0
  /** Tokens per second when they were last added. Outlives the destination of a subscriber that is paused. */
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
    if (this.#rate !== undefined) this.#tokens = Math.min(1, this.#addTokens(this.#rate, now))
  }

  started(rate: number | undefined, now: number): void {
    this.breaker.started()
    if (rate !== undefined) this.#tokens = this.#addTokens(rate, now) - 1
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

  /**
   * A token bucket that gains `rate` tokens per second and holds those of one second. It starts with one token: the process that
   * owned the queue before may have just spent all.
   */
  #addTokens(rate: number, now: number): number {
    this.#rate = rate
    const gained = (Math.max(0, now - this.#tokensAt) / 1000) * rate
    this.#tokens = this.#tokens === undefined ? 1 : Math.min(Math.max(1, rate), this.#tokens + gained)
    this.#tokensAt = now
    return this.#tokens
  }
}
