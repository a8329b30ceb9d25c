import type { Random } from '../../runtime/clock.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { RepeatedPass } from '../../runtime/repeated-pass.ts'
import type { Endpoints } from './endpoints.ts'
import {
  endpointMaxAge,
  isLow,
  type Payloads,
  prefetchLimit,
  QueueReader,
  refillBelow,
} from './queue-reader.ts'
import type { CommittedDelivery, DeliveryStore } from '../store.ts'
import { SubscriberPace } from './subscriber-pace.ts'
import { SubscriberQueue } from './subscriber-queue.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** The most queues that one process owns. Beyond that, queues are released in turn. */
const maxQueues = 512
/** The most paces of released queues that are kept. */
const maxPaces = 10_000
/** The most pages of subscribers that one scan reads. */
const pagesPerScan = 25
/** Milliseconds between two scans while there is other work. */
const scanPause = 20

interface PrefetcherParts extends Pick<ModuleParts, 'clock' | 'log'> {
  store: DeliveryStore
  endpoints: Pick<Endpoints, 'open'>
  random: Random
  /** Called when a queue has deliveries that may start. */
  onFilled: (queue: SubscriberQueue) => void
  /** Notifies the process that owns a subscriber's queue of new deliveries. */
  notifyOwner: (subscriberId: string) => void
  /** Called when this process lost all its queues: other processes may own them. */
  onLost: () => void
  /** Called when the lease is proved valid again. */
  onRegained: () => void
  /** Called after each page of a scan. */
  onProgress?: () => void
}

/**
 * Owns subscriber queues and keeps them filled before the dispatcher needs their deliveries. A scan claims the queues of subscribers
 * with due deliveries and releases queues that are idle; when more subscribers have work than fit, queues take turns. `QueueReader`
 * reads the deliveries. Deliveries that this process has just committed skip the read.
 */
export class Prefetcher {
  readonly #parts: PrefetcherParts
  /** The queues that this process owns, by subscriber. */
  readonly #queues = new Map<string, SubscriberQueue>()
  readonly #reader: QueueReader
  /**
   * Subscribers without a queue here that may have due deliveries, and whether these are new: then the process that owns the queue
   * must be notified. The next scan claims the queues first.
   */
  readonly #markedDue = new Map<string, boolean>()
  /** By subscriber, when this process tried to claim its queue and found it owned by another one. */
  readonly #foreign = new Map<string, number>()
  /** Of subscribers whose queues were released or dropped, so that their next queues keep the limits. */
  readonly #paces = new BoundedCache<string, SubscriberPace>(maxPaces)
  readonly #scans: RepeatedPass
  #generation = 0
  #sessionAcquired = false
  /** Whether the next run looks for all due subscribers, or claims only those in `#markedDue`. */
  #scanAll = true
  /** Where the next scan continues: the last subscriber that was looked at. */
  #cursor = ''
  /** Whether subscribers wait because this process owns the maximum number of queues. */
  #crowded = false
  /** How often all queues were dropped: a claim that was in flight then is void. */
  #drops = 0
  #stopped = false

  constructor(parts: PrefetcherParts) {
    this.#parts = parts
    this.#reader = new QueueReader({
      ...parts,
      queues: this.#queues,
      // An empty queue may make room for a subscriber that waits.
      onEmptied: () => {
        if (this.#crowded) this.scan()
      },
    })
    this.#scans = new RepeatedPass(
      () => this.#runScan(),
      // A busy process is asked to scan all the time; the pause limits the scans.
      (again) => (this.#reader.hasWork ? parts.clock.after(scanPause, again) : again()),
    )
  }

  /** Increases with each queue that this process claims. */
  get generation(): number {
    return this.#generation
  }

  get queues(): Iterable<SubscriberQueue> {
    return this.#queues.values()
  }

  get payloads(): Payloads {
    return this.#reader.payloads
  }

  /** Starts a scan for due subscribers, or schedules one after the current scan. */
  scan(): void {
    this.#scanAll = true
    this.#scans.request()
  }

  /**
   * The subscriber may have due deliveries: refills its queue, or lets the next scan claim it.
   * @param isNew whether the process that owns the queue, if it is another one, must be notified of them
   */
  markDue(subscriberId: string, isNew = false): void {
    const queue = this.#queues.get(subscriberId)
    if (queue) {
      queue.firstAttempts.mayHaveMore = queue.retries.mayHaveMore = true
      this.#reader.requestRefill(queue)
    } else {
      this.#markedDue.set(subscriberId, isNew || this.#markedDue.get(subscriberId) === true)
      this.#scans.request()
    }
  }

  /** The same, unless another process owns the queue. */
  markDueIfOwned(subscriberId: string): void {
    if (this.#queues.has(subscriberId)) this.markDue(subscriberId)
  }

  /**
   * The subscriber was changed: starts none of its deliveries before its endpoint is read again. Without a queue here it is
   * claimed, because a scan would find a resumed subscriber late.
   */
  changed(subscriberId: string): void {
    const queue = this.#queues.get(subscriberId)
    if (!queue) return this.markDue(subscriberId)
    queue.changeCount += 1
    queue.stale = true
    this.#reader.requestRefill(queue)
  }

  /**
   * The database was restored to an earlier state, in which other processes may own the queues: all are claimed and read again.
   * Attempts in flight continue. They are recorded if their deliveries still exist.
   */
  databaseRestored(): void {
    this.payloads.forgetAll()
    this.#dropAll()
    this.scan()
  }

  /**
   * Enqueues deliveries that a transaction of this process has just committed, while their queues have space. The others are
   * read from the table, here or by the process that owns the queue.
   */
  offer(committed: readonly CommittedDelivery[]): void {
    const now = this.#parts.clock.now()
    for (const one of committed) {
      this.payloads.add(one.payload)
      const { subscriberId } = one.delivery
      const queue = this.#queues.get(subscriberId)
      if (!queue || queue.draining) this.#claimOrNotify(subscriberId, now)
      else if (this.#accepts(queue, one, now)) this.#enqueue(queue, one, now)
      else this.markDue(subscriberId)
    }
  }

  /** Requests deliveries for a queue that has few. */
  refillIfLow(queue: SubscriberQueue): void {
    if (isLow(queue, this.#limit(queue), refillBelow)) this.#reader.requestRefill(queue)
  }

  /** Called when the delivery is recorded, or this process gave it up: from now on only the table has its state. */
  forget(id: number): void {
    this.#reader.forget(id)
  }

  /** Called every second. Finds changes and deliveries whose notifications were lost. */
  refresh(): void {
    const now = this.#parts.clock.now()
    for (const queue of this.#queues.values())
      if (queue.waiting > 0 && now - queue.endpointReadAt >= endpointMaxAge) this.#reader.requestRefill(queue)
    this.scan()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#scans.stop()
    this.#reader.stop()
    this.#discardAll()
    await this.#scans.ended()
    await this.#reader.idle()
    this.#discardAll()
  }

  /** Whether the delivery may be enqueued without a read: it must be due, unordered, and behind all that was read. */
  #accepts(queue: SubscriberQueue, { delivery, generation }: CommittedDelivery, now: number): boolean {
    return (
      queue.generation <= generation &&
      queue.endpoint?.ordered === false &&
      delivery.dueAt <= now &&
      delivery.id > queue.highestId &&
      queue.firstAttempts.waiting.length < this.#limit(queue)
    )
  }

  #enqueue(queue: SubscriberQueue, { delivery, payload }: CommittedDelivery, now: number): void {
    const outdated = now - queue.endpointReadAt >= endpointMaxAge
    // After a while without work the endpoint is read again before anything starts.
    if (outdated && queue.inMemory === 0) queue.stale = true
    this.#reader.enqueue(queue, [{ delivery, payload }], queue.firstAttempts.waiting)
    if (outdated) this.#reader.requestRefill(queue)
    this.#parts.onFilled(queue)
  }

  #limit(queue: SubscriberQueue): number {
    return prefetchLimit(queue, this.#queues.size)
  }

  #discardAll(): void {
    for (const queue of this.#queues.values()) this.#reader.discard(queue)
  }

  /** A subscriber without a queue here has new deliveries: claims the queue, or notifies the process that owns it. */
  #claimOrNotify(subscriberId: string, now: number): void {
    if (isRecent(this.#foreign.get(subscriberId), now)) this.#parts.notifyOwner(subscriberId)
    else this.markDue(subscriberId, true)
  }

  /** Drops all queues without releasing them. Attempts in flight continue. Later queues keep the limits. */
  #dropAll(): void {
    this.#drops += 1
    for (const queue of this.#queues.values()) {
      this.#reader.discard(queue)
      queue.drop()
      this.#paces.set(queue.id, queue.pace)
    }
    this.#queues.clear()
    this.#reader.cancelRefills()
  }

  async #runScan(): Promise<void> {
    try {
      await this.#acquireSession()
      await this.#releaseIdle()
      const scanAll = this.#scanAll
      this.#scanAll = false
      await this.#claimMarked()
      if (scanAll) await this.#claimDue()
    } catch (error) {
      // The database may be unavailable: the next scan tries again.
      this.#parts.log.error({ err: error }, 'the scan for due deliveries failed')
    }
  }

  async #acquireSession(): Promise<void> {
    if (this.#sessionAcquired) return
    const { store, onLost, onRegained: regained } = this.#parts
    const lost = (): void => {
      this.#dropAll()
      onLost()
      this.scan()
    }
    await store.acquireSession({ lost, freed: () => this.scan(), regained })
    this.#sessionAcquired = true
  }

  async #claimMarked(): Promise<void> {
    const marked = new Map(this.#markedDue)
    this.#markedDue.clear()
    if (marked.size === 0) return
    const tried = await this.#claim([...marked.keys()])
    const { clock, notifyOwner } = this.#parts
    const now = clock.now()
    for (const [id, foundAt] of this.#foreign) if (!isRecent(foundAt, now)) this.#foreign.delete(id)
    for (const id of tried.filter((one) => !this.#queues.has(one))) {
      this.#foreign.set(id, now)
      if (marked.get(id)) notifyOwner(id)
    }
  }

  /** Visits all due subscribers once, starting where the last scan ended. */
  async #claimDue(): Promise<void> {
    const { store, clock, onProgress } = this.#parts
    const start = this.#cursor
    let wrapped = start === ''
    for (let page = 0; page < pagesPerScan && !this.#stopped; page += 1) {
      const { ids, next } = await store.subscribersDue(clock.now(), this.#cursor)
      for (const id of ids) if (this.#queues.has(id)) this.markDue(id)
      const others = ids.filter((id) => !this.#queues.has(id))
      const tried = await this.#claim(others)
      onProgress?.()
      if (tried.length < others.length) return
      this.#cursor = next ?? ''
      if (next === undefined && wrapped) return
      if (next === undefined) wrapped = true
      else if (wrapped && start !== '' && next >= start) return
    }
  }

  /** Claims queues. Returns those that it tried to claim: this process may have no place for some. */
  async #claim(subscriberIds: readonly string[]): Promise<readonly string[]> {
    const { store, clock } = this.#parts
    const fitting = subscriberIds.slice(0, Math.max(0, maxQueues - this.#queues.size))
    if (fitting.length > 0) {
      const drops = this.#drops
      const claimed = await store.claim(fitting)
      // The lease ended meanwhile: other processes may own these queues now.
      if (drops !== this.#drops) return []
      for (const id of claimed) {
        if (this.#queues.has(id)) continue
        this.#generation += 1
        const queue = new SubscriberQueue(id, this.#generation, clock.now(), this.#paceOf(id))
        this.#queues.set(id, queue)
        this.#reader.requestRefill(queue)
      }
    }
    this.#crowded = fitting.length < subscriberIds.length
    if (this.#crowded) this.#makeRoom()
    return fitting
  }

  /** Releases idle queues if there are any; else drains the queues that had their turn. */
  #makeRoom(): void {
    const now = this.#parts.clock.now()
    for (const queue of this.#queues.values())
      if (this.#isIdle(queue) && queue.pace.healthy) return this.scan()
    for (const queue of this.#queues.values())
      if (now - queue.createdAt >= turnLength) {
        queue.draining = true
        this.#reader.discard(queue)
      }
  }

  /** Releases the queues with nothing in flight that are drained, that have no active subscriber, or that were not used lately. */
  async #releaseIdle(): Promise<void> {
    const { clock, store } = this.#parts
    const now = clock.now()
    const released: string[] = []
    for (const queue of this.#queues.values()) {
      if (!this.#isIdle(queue) || !isUnneeded(queue, now, this.#crowded)) continue
      this.#queues.delete(queue.id)
      this.#paces.set(queue.id, queue.pace)
      released.push(queue.id)
    }
    if (released.length > 0) await store.release(released)
  }

  /** The pace of the subscriber's last queue here, or a new one. */
  #paceOf(id: string): SubscriberPace {
    const { clock, random } = this.#parts
    const pace = this.#paces.get(id) ?? new SubscriberPace(random)
    pace.resumed(clock.now())
    return pace
  }

  #isIdle(queue: SubscriberQueue): boolean {
    return queue.empty && !this.#reader.isRefillRequested(queue)
  }
}

/** Milliseconds for which a queue that another process owned is not claimed again. Then that process may have released it. */
const foreignFor = 1_000

function isRecent(foundAt: number | undefined, now: number): boolean {
  return foundAt !== undefined && Math.abs(now - foundAt) < foreignFor
}

/** Milliseconds without work after which a queue is released. */
const idleTimeout = 60_000
/** Milliseconds that a queue stays here while other subscribers wait for a free place. */
const turnLength = 1_000

/**
 * Whether a queue without work may be released: it is drained, its subscriber is not active, or it was not used lately. That of a
 * failing subscriber stays, because its retries come. @param crowded whether other subscribers wait for a free place
 */
function isUnneeded(queue: SubscriberQueue, now: number, crowded: boolean): boolean {
  if (queue.draining) return true
  // Another process would start with one attempt: releasing this queue early would break the rate limit.
  if (!crowded && queue.pace.mustWaitForRate(now)) return false
  const isInactive = !queue.endpoint && !queue.stale
  return isInactive || (queue.pace.healthy && (crowded || now - queue.lastUsedAt >= idleTimeout))
}
