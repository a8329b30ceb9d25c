import type { Random } from '../runtime/clock.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Destination } from './destinations.ts'
import {
  startPosition,
  type AttemptRecord,
  type ClaimedDelivery,
  type EventPayload,
  type DuePosition,
} from './store.ts'

/** A delivery that waits for a place in its queue. */
export interface QueuedDelivery {
  readonly delivery: ClaimedDelivery
  /** Read when its turn comes, if it is too large to be kept. */
  readonly payload: EventPayload | undefined
}

/** More than any concurrency. */
const maxWindow = 1024
/** First attempts that go before a retry, where both wait. */
const firstAttemptsPerRetry = 3

/** How an exchange ended, as far as it says something of the subscriber. */
export type ResponseClass =
  /** It answered, be it with a refusal. */
  | 'answered'
  /** It answered that it cannot answer: 408, 429 or 5xx. */
  | 'unavailable'
  /** No answer came. */
  | 'no-response'
  /** This process ended it. */
  | 'aborted'

export function classifyResponse({ status }: Pick<AttemptRecord, 'status'>): ResponseClass {
  if (status === null) return 'no-response'
  return status === 408 || status === 429 || status >= 500 ? 'unavailable' : 'answered'
}

/** Deliveries of one kind, first attempts or retries, that were read and wait, and where reading goes on. */
class PrefetchBuffer {
  readonly waiting: QueuedDelivery[] = []
  position: DuePosition = startPosition
  /** Whether there may be more in the table. */
  mayHaveMore = true

  clear(): QueuedDelivery[] {
    this.position = startPosition
    this.mayHaveMore = true
    return this.waiting.splice(0)
  }
}

/**
 * What one subscriber has waiting and under way. Keeps it within its concurrency and its rate, so that none takes what
 * others need. One that does not answer soon gets a single attempt at a time: hundreds of those may hang and hold up
 * nobody. First attempts and retries wait apart, so that a wall of retries does not hold up what is new.
 */
export class SubscriberQueue {
  readonly id: string
  /** Lanes that were made before it have lower ones. */
  readonly generation: number
  readonly firstAttempts = new PrefetchBuffer()
  readonly retries = new PrefetchBuffer()
  readonly breaker: CircuitBreaker
  /** Read before anything begins. */
  destination: Destination | undefined
  /** Whether the destination has to be read again before anything begins. */
  stale = true
  /** How often this process changed the subscriber. */
  changeCount = 0
  /** When the destination was last read, and when the stocks last began from the beginning. */
  destinationReadAt = 0
  rescannedAt = 0
  /** Deliveries in memory: waiting, under way or being written down. */
  inMemory = 0
  inFlight = 0
  /** The highest id that was ever seen. */
  highestId = 0
  readonly createdAt: number
  /** When it last had something to do. */
  lastUsedAt: number
  /** Whether a timer waits for its rate or its breaker. */
  timerPending = false
  /** It takes nothing more: others are to have their turn. */
  draining = false
  /** Attempts at a time that its answers deserve: halved when none comes, doubled by each one. */
  window = maxWindow
  firstAttemptsInARow = 0
  #tokens: number | undefined
  /** Tokens a second when they were last counted: it is paused by now, perhaps, and has no destination. */
  #rate: number | undefined
  #refilledAt = 0

  constructor(id: string, since: number, now: number, random: Random) {
    this.id = id
    this.generation = since
    this.createdAt = this.lastUsedAt = now
    this.breaker = new CircuitBreaker(random)
  }

  get waiting(): number {
    return this.firstAttempts.waiting.length + this.retries.waiting.length
  }

  /** Whether its last answers were late: then it must not take many of the places that all share. */
  get unresponsive(): boolean {
    return this.window < maxWindow
  }

  /** Whether it has nothing to do, and knows nothing that another queue of the same subscriber would not. */
  get releasable(): boolean {
    return this.inMemory === 0 && this.inFlight === 0 && !this.unresponsive && this.breaker.healthy
  }

  /** Whether its rate is still to be waited for: a queue that was made anew would begin with an attempt. */
  mustWaitForRate(now: number): boolean {
    return this.#rate !== undefined && this.#refill(this.#rate, now) < 1
  }

  /**
   * How many more attempts may begin now.
   * @param scarce whether there is little left for all together: then only who has nothing under way gets one
   */
  capacity(now: number, scarce = false): number {
    const { destination } = this
    if (!destination || this.stale) return 0
    const places = Math.min(scarce ? 1 : destination.concurrency, this.window) - this.inFlight
    // An ordered queue is held up by its first delivery, whose schedule is probe enough.
    const free = destination.ordered ? places : Math.min(places, this.breaker.capacity(now))
    return destination.rate === undefined
      ? free
      : Math.min(free, Math.floor(this.#refill(destination.rate, now)))
  }

  /** Milliseconds until its rate or its breaker allows another attempt; `undefined` when neither is in the way. */
  waitTime(now: number): number | undefined {
    const { destination, breaker } = this
    if (!destination) return undefined
    const breakerWait = destination.ordered ? undefined : breaker.waitTime(now)
    if (breakerWait !== undefined) return breakerWait
    if (destination.rate === undefined) return undefined
    const tokens = this.#refill(destination.rate, now)
    return tokens >= 1 ? undefined : Math.ceil(((1 - tokens) / destination.rate) * 1000)
  }

  /** The next to begin; its place is taken. */
  startNext(now: number): QueuedDelivery | undefined {
    const retry = this.firstAttempts.waiting.length === 0 || this.firstAttemptsInARow >= firstAttemptsPerRetry
    const stock = retry && this.retries.waiting.length > 0 ? this.retries : this.firstAttempts
    const next = stock.waiting.shift()
    if (!next) return undefined
    this.firstAttemptsInARow = stock === this.retries ? 0 : this.firstAttemptsInARow + 1
    this.inFlight += 1
    this.lastUsedAt = now
    this.breaker.started()
    if (this.destination?.rate !== undefined) this.#tokens = this.#refill(this.destination.rate, now) - 1
    return next
  }

  finish(ending: ResponseClass, now: number): void {
    this.inFlight -= 1
    this.lastUsedAt = now
    if (ending === 'aborted') return this.breaker.aborted()
    if (ending === 'answered') this.breaker.succeeded()
    else this.breaker.failed(now)
    this.window =
      ending === 'no-response'
        ? Math.max(1, Math.floor(Math.min(this.window, this.inFlight + 1) / 2))
        : Math.min(maxWindow, this.window * 2)
  }

  /**
   * Tokens come back at `rate` per second; at most one second's worth is saved up. A queue begins with one: whoever had it
   * before may have just spent all.
   */
  #refill(rate: number, now: number): number {
    this.#rate = rate
    const most = Math.max(1, rate)
    const gained = (Math.max(0, now - this.#refilledAt) / 1000) * rate
    this.#tokens = this.#tokens === undefined ? 1 : Math.min(most, this.#tokens + gained)
    this.#refilledAt = now
    return this.#tokens
  }
}
