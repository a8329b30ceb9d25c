import type { Random } from '../../runtime/clock.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Destination } from './destinations.ts'
import {
  startPosition,
  type AttemptRecord,
  type ClaimedDelivery,
  type DuePosition,
  type EventPayload,
} from '../store.ts'

/** A delivery that waits in memory for its attempt. */
export interface QueuedDelivery {
  readonly delivery: ClaimedDelivery
  /** `undefined` for a large payload, which is read just before the attempt. */
  readonly payload: EventPayload | undefined
}

/** Greater than every concurrency: the window does not limit the subscriber. */
const maxWindow = 1024
/** First attempts that start before a retry, while both wait. */
const firstAttemptsPerRetry = 3

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

/** Prefetched deliveries of one kind, first attempts or retries. */
class PrefetchBuffer {
  readonly waiting: QueuedDelivery[] = []
  /** The next read continues behind this position. */
  position: DuePosition = startPosition
  /** Whether the table may have more deliveries behind the position. */
  mayHaveMore = true

  /** Returns the deliveries that waited. */
  clear(): QueuedDelivery[] {
    this.position = startPosition
    this.mayHaveMore = true
    return this.waiting.splice(0)
  }
}

/**
 * The deliveries of one subscriber that wait and that are in flight. Limits how many attempts may start: by the subscriber's
 * concurrency and rate, by a window that shrinks while it does not respond, and by a circuit breaker while it is down. So a
 * slow subscriber takes no places from others. First attempts and retries wait in separate buffers, so that many retries do not
 * delay new events.
 */
export class SubscriberQueue {
  /** Of the subscriber. */
  readonly id: string
  /** Increases with each queue that this process creates. */
  readonly generation: number
  readonly firstAttempts = new PrefetchBuffer()
  readonly retries = new PrefetchBuffer()
  readonly breaker: CircuitBreaker
  /** `undefined` before the first read, and while the subscriber is not active. */
  destination: Destination | undefined
  /** Whether the destination must be read again before an attempt starts. */
  stale = true
  /** The number of changes of the subscriber that this process was notified of. */
  changeCount = 0
  /** When the destination was last read; times in milliseconds since 1970. */
  destinationReadAt = 0
  /** When reading last started from the beginning. */
  rescannedAt = 0
  /** Deliveries that wait, are in flight or are being recorded. */
  inMemory = 0
  inFlight = 0
  /** The highest id of all deliveries that were ever in memory. */
  highestId = 0
  readonly createdAt: number
  /** When a delivery was last added, started or finished. */
  lastUsedAt: number
  /** Whether a timer waits for the rate limit or the circuit breaker. */
  timerPending = false
  /** Whether the queue accepts no more deliveries, so that another subscriber gets its place. */
  draining = false
  /** How many attempts may be in flight: halved by each missing response, doubled by each received one. */
  #window = maxWindow
  #firstAttemptsInARow = 0
  /** Of the token bucket for the rate limit. */
  #tokens: number | undefined
  #refilledAt = 0
  /** Tokens per second at the last refill. Outlives the destination of a subscriber that is paused. */
  #rate: number | undefined

  constructor(id: string, generation: number, now: number, random: Random) {
    this.id = id
    this.generation = generation
    this.createdAt = this.lastUsedAt = now
    this.breaker = new CircuitBreaker(random)
  }

  get waiting(): number {
    return this.firstAttempts.waiting.length + this.retries.waiting.length
  }

  /** Whether responses were missing lately. Then the queue gets only a part of the places that all queues share. */
  get unresponsive(): boolean {
    return this.#window < maxWindow
  }

  /** Whether the queue has no work, and no state that a new queue of the subscriber would lack. */
  get releasable(): boolean {
    return this.inMemory === 0 && this.inFlight === 0 && !this.unresponsive && this.breaker.healthy
  }

  /** Whether the rate limit allows no attempt now. A new queue would start with one. */
  mustWaitForRate(now: number): boolean {
    return this.#rate !== undefined && this.#refill(this.#rate, now) < 1
  }

  /**
   * How many more attempts may start now.
   * @param scarce whether the process has few places left: then a queue gets one only if nothing of it is in flight
   */
  capacity(now: number, scarce = false): number {
    const { destination } = this
    if (!destination || this.stale) return 0
    const concurrency = scarce ? 1 : destination.concurrency
    let capacity = Math.min(concurrency, this.#window) - this.inFlight
    // The first delivery of an ordered queue blocks the others: its schedule already works like the pauses of the breaker.
    if (!destination.ordered) capacity = Math.min(capacity, this.breaker.capacity(now))
    if (destination.rate === undefined) return capacity
    return Math.min(capacity, Math.floor(this.#refill(destination.rate, now)))
  }

  /** Milliseconds until the rate limit or the circuit breaker allows an attempt; `undefined` if neither blocks one. */
  waitTime(now: number): number | undefined {
    const { destination, breaker } = this
    if (!destination) return undefined
    const breakerWait = destination.ordered ? undefined : breaker.waitTime(now)
    if (breakerWait !== undefined) return breakerWait
    if (destination.rate === undefined) return undefined
    const tokens = this.#refill(destination.rate, now)
    return tokens >= 1 ? undefined : Math.ceil(((1 - tokens) / destination.rate) * 1000)
  }

  /** Removes the next delivery and counts it as in flight; `undefined` if none waits. */
  startNext(now: number): QueuedDelivery | undefined {
    const buffer = this.#nextBuffer()
    const next = buffer.waiting.shift()
    if (!next) return undefined
    this.#firstAttemptsInARow = buffer === this.retries ? 0 : this.#firstAttemptsInARow + 1
    this.inFlight += 1
    this.lastUsedAt = now
    this.breaker.started()
    if (this.destination?.rate !== undefined) this.#tokens = this.#refill(this.destination.rate, now) - 1
    return next
  }

  finish(response: ResponseClass, now: number): void {
    this.inFlight -= 1
    this.lastUsedAt = now
    if (response === 'aborted') return this.breaker.aborted()
    if (response === 'answered') this.breaker.succeeded()
    else this.breaker.failed(now)
    this.#window =
      response === 'no-response'
        ? Math.max(1, Math.floor(Math.min(this.#window, this.inFlight + 1) / 2))
        : Math.min(maxWindow, this.#window * 2)
  }

  #nextBuffer(): PrefetchBuffer {
    const retryIsDue =
      this.firstAttempts.waiting.length === 0 || this.#firstAttemptsInARow >= firstAttemptsPerRetry
    return retryIsDue && this.retries.waiting.length > 0 ? this.retries : this.firstAttempts
  }

  /**
   * A token bucket that gains `rate` tokens per second and holds those of one second. It starts with one token: the process that
   * owned the queue before may have just spent all.
   */
  #refill(rate: number, now: number): number {
    this.#rate = rate
    const gained = (Math.max(0, now - this.#refilledAt) / 1000) * rate
    this.#tokens = this.#tokens === undefined ? 1 : Math.min(Math.max(1, rate), this.#tokens + gained)
    this.#refilledAt = now
    return this.#tokens
  }
}
