import { type Scheduler, Timers } from '../../runtime/clock.ts'
import { Progress, type Worker } from '../../runtime/worker.ts'
import { whenAborted } from '../../runtime/abort-broadcast.ts'
import type { Database } from '../../storage/database.ts'
import { Completions } from './completions.ts'
import {
  DeliveryAttempts,
  type DeliveryAttemptsOptions,
  pollInterval,
  type ReleasePlace,
} from './delivery-attempts.ts'
import type { Endpoint, Endpoints } from './endpoints.ts'
import type { OperationalEvents } from './operational-events.ts'
import { Prefetcher } from './prefetcher.ts'
import type { QueuedDelivery, SubscriberQueue } from './subscriber-queue.ts'
import type { CommittedDelivery, DeliveryStore } from '../store.ts'

interface DispatcherParts extends DeliveryAttemptsOptions {
  database: Pick<Database, 'signal' | 'onSignal' | 'publish' | 'onPublished' | 'onSetBack' | 'inBackground'>
  store: DeliveryStore
  endpoints: Pick<Endpoints, 'open'>
  operationalEvents: Pick<OperationalEvents, 'sideEffects' | 'publish'>
  /** The event loop. Default: that of the process. */
  scheduler?: Scheduler
  /** Closes the connections, after the last attempt. */
  close: () => Promise<void>
}

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

/**
 * Sends the deliveries of the queues that this process owns: `Prefetcher` reads them, `DeliveryAttempts` makes the attempts, and
 * `Completions` records their ends. The dispatcher decides which attempt starts next: queues take turns, and none gets more than its
 * share of the free places.
 */
export class Dispatcher implements Worker {
  readonly name = 'deliveries'
  readonly #parts: DispatcherParts
  readonly #completions: Completions
  readonly #prefetcher: Prefetcher
  readonly #attempts: DeliveryAttempts
  readonly #progress: Progress
  readonly #timers: Timers
  /** Queues with waiting deliveries that may start one, in the order of their turns. */
  readonly #ready = new Set<SubscriberQueue>()
  #placesTaken = 0
  #unresponsiveTaken = 0
  #unsubscribe: (() => void)[] = []
  #stopped = true

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    const { clock, database, operationalEvents } = parts
    this.#timers = new Timers(clock)
    this.#progress = new Progress(clock)
    this.#completions = new Completions({
      ...parts,
      publish: (tx, events) => operationalEvents.publish(tx, events),
      onRecorded: () => this.#startReady(),
    })
    this.#prefetcher = new Prefetcher({
      ...parts,
      onFilled: (queue) => this.#makeReady(queue),
      notifyOwner: (subscriberId) => database.publish('subscriber_queue', subscriberId),
      onLost: () => this.#attempts.abortCurrent(new Error('this process lost its subscriber queues')),
      onRegained: () => this.#startReady(),
      onProgress: () => this.#progress.made(),
    })
    const shared = { prefetcher: this.#prefetcher, completions: this.#completions, timers: this.#timers }
    this.#attempts = new DeliveryAttempts({ ...parts, ...shared })
  }

  start(): void {
    this.#stopped = false
    this.#timers.start()
    this.#progress.made()
    const { database } = this.#parts
    this.#unsubscribe = [
      database.onSignal('deliveries', () => this.wake()),
      database.onPublished('subscriber', (id) => this.changed(id)),
      database.onPublished('payload', (nonce) => this.forgetPayload(Number(nonce))),
      database.onPublished('subscriber_queue', (id) => this.#prefetcher.markDueIfOwned(id)),
      database.onSetBack(() => this.#prefetcher.databaseRestored()),
    ]
    this.#poll()
  }

  /** Milliseconds since scans, or the recording of attempts, last succeeded. */
  sinceRound(): number {
    return Math.max(this.#progress.age, this.#completions.failingFor)
  }

  oldestDue(): Promise<number | undefined> {
    const busy = new Set<string>()
    for (const { id, inFlight } of this.#prefetcher.queues) if (inFlight > 0) busy.add(id)
    return this.#parts.store.oldestDue(this.#parts.clock.now(), busy)
  }

  /** Starts a scan for due deliveries. */
  wake(): void {
    if (!this.#stopped) this.#prefetcher.scan()
  }

  /** Called when a subscriber was changed by any process: starts none of its deliveries before it is read again. */
  changed(subscriberId: string): void {
    if (!this.#stopped) this.#prefetcher.changed(subscriberId)
  }

  /** Called when any process has removed a payload: no further attempt sends it. */
  forgetPayload(nonce: number): void {
    this.#prefetcher.payloads.forget(nonce)
  }

  /** Increases with each queue that this process claims. See `CommittedDelivery`. */
  get generation(): number {
    return this.#prefetcher.generation
  }

  /**
   * Starts deliveries that were just committed without reading them.
   * @param offered by event; `undefined` if the deliveries of an event are not known, which starts a scan
   */
  offer(offered: readonly (readonly CommittedDelivery[] | undefined)[]): void {
    const known = offered.flatMap((some) => some ?? [])
    const complete = !offered.includes(undefined)
    // A stopped process does not know which process owns the queues.
    if (this.#stopped || !complete) this.#parts.database.signal('deliveries')
    if (!this.#stopped) this.#prefetcher.offer(known)
  }

  /** Waits for the attempts in flight until the deadline, then aborts them. */
  async stop(deadline: AbortSignal): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#timers.stop()
    const forget = whenAborted(deadline, () => {
      this.#attempts.abort(new Error('the service is stopping'))
      this.#completions.abandon()
    })
    await this.#prefetcher.stop()
    await this.#attempts.drained()
    forget()
    await this.#parts.store.releaseSession()
    await this.#parts.close()
  }

  #poll(): void {
    this.#prefetcher.refresh()
    this.#timers.after(pollInterval, () => this.#poll())
  }

  /** The queue has deliveries that may start. */
  #makeReady(queue: SubscriberQueue): void {
    this.#ready.add(queue)
    this.#startReady()
  }

  /** Starts attempts while there are free places, one queue after the other. */
  #startReady(): void {
    const { clock, store } = this.#parts
    // Without a valid lease, other processes may own the queues.
    if (this.#ready.size === 0 || this.#stopped || !store.leaseValid()) return
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
    return Math.min(maxInFlight, maxUnrecorded - this.#completions.unrecorded) - this.#placesTaken
  }

  /** Starts what one turn of the queue allows. Returns whether an attempt started. */
  #startSome(queue: SubscriberQueue, now: number): boolean {
    const scarce = this.#placesTaken >= scarceFrom
    const share = this.#ready.size === 0 ? maxInFlight : attemptsPerTurn
    let started = 0
    // Checked before each attempt: one that ends while it starts can let the dispatcher start others.
    while (started < share && this.#mayStartOne(queue, now, scarce)) {
      const next = queue.startNext(now)
      if (!next) break
      this.#start(next, queue, queue.endpoint!)
      started += 1
    }
    this.#prefetcher.refillIfLow(queue)
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
      this.#timers.after(Math.min(wait, longestWait), () => {
        queue.timerPending = false
        if (queue.waiting > 0) this.#makeReady(queue)
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
      this.#startReady()
    }
    this.#attempts.start(queued, queue, endpoint, release)
  }
}
