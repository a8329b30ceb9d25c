import type { Clock } from '../../runtime/clock.ts'
import type { Endpoint } from './endpoints.ts'
import type { ResponseClass } from './subscriber-pace.ts'
import type { QueuedDelivery, SubscriberQueue } from './subscriber-queue.ts'

/** The most attempts in flight in one process. */
const maxInFlight = 500
/** The most attempts that are in flight or not recorded yet. After a crash they are made once more. */
export const maxUnrecorded = 1_000
/** With so many attempts in flight, a subscriber gets another one only if none of its own is in flight. */
const scarceFrom = 250
/** The most attempts in flight to subscribers that did not respond lately, for all of them together. */
const maxUnresponsive = 200
/** Attempts that one queue starts before the next queue has its turn. */
const attemptsPerTurn = 4
/** Queues that are tried in a row without a start before the rest waits for the next event. */
const maxQueuesSkipped = 64
/** Milliseconds for which a queue waits at most before it is looked at again. */
const longestWait = 1_000

/** Ends the use of a place for an attempt. Only the first call has an effect. */
export type ReleasePlace = (response: ResponseClass) => void

interface AttemptTurnsParts {
  clock: Clock
  timers: Timers
  /** Whether attempts may start. Without a valid lease, other processes may own the queues. */
  mayStart: () => boolean
  /** The number of attempts that have ended and are not recorded yet. */
  unrecorded: () => number
  /** Starts an attempt, which calls `release` when it needs its place no longer. */
  start: (queued: QueuedDelivery, queue: SubscriberQueue, endpoint: Endpoint, release: ReleasePlace) => void
  /** Called after the turn of a queue, which may need deliveries now. */
  onTurn: (queue: SubscriberQueue) => void
}

/** Decides which attempt starts next. Queues take turns, and none gets more than its share of the free places. */
export class AttemptTurns {
  readonly #parts: AttemptTurnsParts
  /** Queues with waiting deliveries that may start one, in the order of their turns. */
  readonly #ready = new Set<SubscriberQueue>()
  #placesTaken = 0
  #unresponsiveTaken = 0

  constructor(parts: AttemptTurnsParts) {
    this.#parts = parts
  }

  /** The queue has deliveries that may start. */
  add(queue: SubscriberQueue): void {
    this.#ready.add(queue)
    this.startReady()
  }

  /** Starts attempts while there are free places, one queue after the other. */
  startReady(): void {
    const { clock, mayStart } = this.#parts
    if (this.#ready.size === 0 || !mayStart()) return
    const now = clock.now()
    for (let skipped = 0; skipped < maxQueuesSkipped && this.#freePlaces > 0;) {
      const [queue] = this.#ready
      if (!queue) return
      this.#ready.delete(queue)
      const started = this.#startSome(queue, now)
      if (queue.waiting > 0 && this.#waitsForPlace(queue, now)) this.#ready.add(queue)
      skipped = started ? 0 : skipped + 1
      if (!started && skipped >= this.#ready.size) return
    }
  }

  get #freePlaces(): number {
    return Math.min(maxInFlight, maxUnrecorded - this.#parts.unrecorded()) - this.#placesTaken
  }

  /** Starts what one turn of the queue allows. Returns whether an attempt started. */
  #startSome(queue: SubscriberQueue, now: number): boolean {
    const scarce = this.#placesTaken >= scarceFrom
    const share = this.#ready.size === 0 ? maxInFlight : attemptsPerTurn
    let started = 0
    // An attempt may end while it starts, and others may start then: each one counts anew.
    while (started < share && this.#mayStartOne(queue, now, scarce)) {
      const next = queue.startNext(now)
      if (!next) break
      this.#start(next, queue, queue.endpoint!)
      started += 1
    }
    this.#parts.onTurn(queue)
    return started > 0
  }

  #mayStartOne(queue: SubscriberQueue, now: number, scarce: boolean): boolean {
    if (this.#freePlaces <= 0 || queue.capacity(now, scarce) <= 0) return false
    return !queue.pace.unresponsive || this.#unresponsiveTaken < maxUnresponsive
  }

  /**
   * Whether the queue waits only for a place. If not, the end of one of its attempts, or a timer that is set here, makes it ready
   * again; while its endpoint is stale, the next read does.
   */
  #waitsForPlace(queue: SubscriberQueue, now: number): boolean {
    if (queue.capacity(now) > 0) return true
    const wait = queue.waitTime(now)
    if (wait !== undefined && !queue.timerPending) {
      queue.timerPending = true
      this.#parts.timers.after(Math.min(wait, longestWait), () => {
        queue.timerPending = false
        if (queue.waiting > 0) this.add(queue)
      })
    }
    return false
  }

  #start(queued: QueuedDelivery, queue: SubscriberQueue, endpoint: Endpoint): void {
    const { unresponsive } = queue.pace
    const isProbe = queue.pace.breaker.open
    this.#placesTaken += 1
    if (unresponsive) this.#unresponsiveTaken += 1
    let released = false
    const release: ReleasePlace = (response) => {
      if (released) return
      released = true
      this.#placesTaken -= 1
      if (unresponsive) this.#unresponsiveTaken -= 1
      queue.finish(response, isProbe, this.#parts.clock.now())
      if (queue.waiting > 0) this.#ready.add(queue)
      this.startReady()
    }
    this.#parts.start(queued, queue, endpoint, release)
  }
}

/** Milliseconds between two polls of the dispatcher: scans that no notification asked for. */
export const pollInterval = 1_000

/** Timers that end together. None is set before `start`, nor after `stop`. */
export class Timers {
  readonly #clock: Clock
  readonly #pending = new Set<() => void>()
  #running = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(): void {
    this.#running = true
  }

  stop(): void {
    this.#running = false
    for (const cancel of this.#pending) cancel()
  }

  after(delay: number, then: () => void): void {
    if (!this.#running) return
    const cancel = this.#clock.after(delay, () => {
      this.#pending.delete(cancel)
      if (this.#running) then()
    })
    this.#pending.add(cancel)
  }
}
