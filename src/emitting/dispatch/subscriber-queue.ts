import type { Endpoint } from './endpoints.ts'
import { startPosition, type DueDelivery, type DuePosition, type EventPayload } from '../store.ts'
import type { ResponseClass, SubscriberPace } from './subscriber-pace.ts'

/** A delivery that waits in memory for its attempt. */
export interface QueuedDelivery {
  readonly delivery: DueDelivery
  /** `undefined` for a large payload, which is read just before the attempt. */
  readonly payload: EventPayload | undefined
}

/** First attempts that start before a retry, while both wait. */
const firstAttemptsPerRetry = 3

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
 * The deliveries of one subscriber that wait and that are in flight. Its pace limits how many attempts may start: a slow subscriber
 * must not use up the places that all subscribers share. First attempts and retries wait in separate buffers, so that many retries do not delay
 * new events.
 *
 * A queue is new until its endpoint is read. It starts attempts while it has an endpoint that is not stale; it is stale from a
 * change of the subscriber until the next read. If the read finds no endpoint, the subscriber is not active, and the queue is
 * released. A draining queue reads nothing, and is released when its attempts have ended.
 */
export class SubscriberQueue {
  /** Of the subscriber. */
  readonly id: string
  /** Increases with each queue that this process creates. */
  readonly generation: number
  readonly firstAttempts = new PrefetchBuffer()
  readonly retries = new PrefetchBuffer()
  readonly pace: SubscriberPace
  /** `undefined` before the first read, and while the subscriber is not active. */
  endpoint: Endpoint | undefined
  /** Whether the endpoint must be read again before an attempt starts. */
  stale = true
  /** The number of changes of the subscriber that this process was notified of. */
  changeCount = 0
  /** When the endpoint was last read; times in milliseconds since 1970. */
  endpointReadAt = 0
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
  #firstAttemptsInARow = 0
  #isDropped = false

  constructor(id: string, generation: number, now: number, pace: SubscriberPace) {
    this.id = id
    this.generation = generation
    this.createdAt = this.lastUsedAt = now
    this.pace = pace
  }

  get waiting(): number {
    return this.firstAttempts.waiting.length + this.retries.waiting.length
  }

  /** Whether the queue has no work. */
  get empty(): boolean {
    return this.inMemory === 0 && this.inFlight === 0
  }

  /**
   * How many more attempts may start now.
   * @param scarce whether the process has few places left: then a queue gets one only if nothing of it is in flight
   */
  capacity(now: number, scarce = false): number {
    const { endpoint } = this
    if (!endpoint || this.stale) return 0
    const limits = scarce ? { ...endpoint, concurrency: 1 } : endpoint
    return this.pace.capacity(limits, this.inFlight, now)
  }

  /** @see SubscriberPace.waitTime */
  waitTime(now: number): number | undefined {
    return this.endpoint && this.pace.waitTime(this.endpoint, this.inFlight, now)
  }

  /** Removes the next delivery and counts it as in flight; `undefined` if none waits. */
  startNext(now: number): QueuedDelivery | undefined {
    const buffer = this.#nextBuffer()
    const next = buffer.waiting.shift()
    if (!next) return undefined
    this.#firstAttemptsInARow = buffer === this.retries ? 0 : this.#firstAttemptsInARow + 1
    this.inFlight += 1
    this.lastUsedAt = now
    this.pace.started(this.endpoint?.rate, now)
    return next
  }

  /** @param isProbe whether the circuit breaker was open when the attempt started */
  finish(response: ResponseClass, isProbe: boolean, now: number): void {
    this.inFlight -= 1
    this.lastUsedAt = now
    this.pace.ended(response, this.inFlight, isProbe && !this.#isDropped, now)
  }

  /** Call it when this process no longer owns the queue. Attempts in flight continue. Their ends do not end a probe of the next queue. */
  drop(): void {
    this.#isDropped = true
    this.pace.dropped()
  }

  #nextBuffer(): PrefetchBuffer {
    const retryIsDue =
      this.firstAttempts.waiting.length === 0 || this.#firstAttemptsInARow >= firstAttemptsPerRetry
    return retryIsDue && this.retries.waiting.length > 0 ? this.retries : this.firstAttempts
  }
}
