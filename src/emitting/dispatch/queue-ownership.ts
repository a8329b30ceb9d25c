import type { Clock, Random } from '../../runtime/clock.ts'
import { RepeatedPass } from '../../runtime/repeated-pass.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DeliveryStore } from '../store.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { QueueReader } from './queue-reader.ts'
import { SubscriberPace } from './subscriber-pace.ts'
import { SubscriberQueue } from './subscriber-queue.ts'

/** The most queues that one process owns. Beyond that, queues are released in turn. */
const maxQueues = 512
/** The most paces of released queues that are kept. */
const maxPaces = 10_000
/** The most pages of subscribers that one scan reads. */
const pagesPerScan = 25
/** Milliseconds between two scans while there is other work. */
const scanPause = 20

/** What other parts do when the queues of this process change. */
export interface OwnershipListeners {
  /** Tells the process that owns a subscriber's queue that it has new deliveries. */
  notifyOwner: (subscriberId: string) => void
  /** Called when this process lost all its queues: other processes may own them. */
  onLost: () => void
  /** Called when the lease is proved valid again. */
  onRegained: () => void
  /** Called after each page of a scan. */
  onProgress?: () => void
}

export interface QueueOwnershipParts extends OwnershipListeners {
  store: DeliveryStore
  /** The queues that this process owns, by subscriber. This class adds and removes them. */
  queues: Map<string, SubscriberQueue>
  clock: Clock
  random: Random
  log: Log
  /** Reads deliveries into the queues. */
  reader: Pick<QueueReader, 'requestRefill' | 'isRefillRequested' | 'discard' | 'cancelRefills' | 'hasWork'>
}

/**
 * Decides which subscriber queues this process owns. A scan claims the queues of subscribers with due deliveries and releases
 * queues that are idle. When more subscribers have work than fit, queues take turns.
 */
export class QueueOwnership {
  readonly #parts: QueueOwnershipParts
  /**
   * Subscribers without a queue here that may have due deliveries, and whether these are new: then the process that owns the queue
   * must be notified. The next scan claims the queues first.
   */
  readonly #markedDue = new Map<string, boolean>()
  readonly #foreign = new ForeignQueues()
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

  constructor(parts: QueueOwnershipParts) {
    this.#parts = parts
    const { clock, reader } = parts
    this.#scans = new RepeatedPass(
      () => this.#runScan(),
      // A busy process is asked to scan all the time; the pause limits the scans.
      (again) => (reader.hasWork ? clock.after(scanPause, again) : again()),
    )
  }

  /** Increases with each queue that this process claims. */
  get generation(): number {
    return this.#generation
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
    const queue = this.#parts.queues.get(subscriberId)
    if (queue) {
      queue.firstAttempts.mayHaveMore = queue.retries.mayHaveMore = true
      this.#parts.reader.requestRefill(queue)
    } else {
      this.#markedDue.set(subscriberId, isNew || this.#markedDue.get(subscriberId) === true)
      this.#scans.request()
    }
  }

  /** A subscriber without a queue here has new deliveries: claims the queue, or notifies the process that owns it. */
  claimOrNotify(subscriberId: string, now: number): void {
    if (this.#foreign.has(subscriberId, now)) this.#parts.notifyOwner(subscriberId)
    else this.markDue(subscriberId, true)
  }

  /** A queue has nothing left in memory: it may make room for a subscriber that waits. */
  queueEmptied(): void {
    if (this.#crowded) this.scan()
  }

  /** Drops all queues without releasing them. Attempts in flight continue. Later queues keep the limits. */
  dropAll(): void {
    const { queues, reader } = this.#parts
    this.#drops += 1
    for (const queue of queues.values()) {
      reader.discard(queue)
      queue.drop()
      this.#paces.set(queue.id, queue.pace)
    }
    queues.clear()
    reader.cancelRefills()
  }

  /** Ends after the current scan. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#scans.stop()
    await this.#scans.ended()
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
      this.dropAll()
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
    const { tried } = await this.#claim([...marked.keys()])
    const { queues, clock, notifyOwner } = this.#parts
    const foreign = tried.filter((id) => !queues.has(id))
    this.#foreign.record(foreign, clock.now())
    for (const id of foreign) if (marked.get(id)) notifyOwner(id)
  }

  /** Visits all due subscribers once, starting where the last scan ended. */
  async #claimDue(): Promise<void> {
    const { store, clock, queues, onProgress } = this.#parts
    const start = this.#cursor
    let wrapped = start === ''
    for (let page = 0; page < pagesPerScan && !this.#stopped; page += 1) {
      const { ids, next } = await store.subscribersDue(clock.now(), this.#cursor)
      for (const id of ids) if (queues.has(id)) this.markDue(id)
      const { areAllTried } = await this.#claim(ids.filter((id) => !queues.has(id)))
      onProgress?.()
      if (!areAllTried) return
      this.#cursor = next ?? ''
      if (next === undefined && wrapped) return
      if (next === undefined) wrapped = true
      else if (wrapped && start !== '' && next >= start) return
    }
  }

  /** Claims queues. Returns those that it tried to claim: this process may have no place for some. */
  async #claim(
    subscriberIds: readonly string[],
  ): Promise<{ tried: readonly string[]; areAllTried: boolean }> {
    const { store, queues, clock, reader } = this.#parts
    const fitting = subscriberIds.slice(0, Math.max(0, maxQueues - queues.size))
    if (fitting.length > 0) {
      const drops = this.#drops
      const claimed = await store.claim(fitting)
      // The lease ended meanwhile: other processes may own these queues now.
      if (drops !== this.#drops) return { tried: [], areAllTried: false }
      for (const id of claimed) {
        if (queues.has(id)) continue
        this.#generation += 1
        const queue = new SubscriberQueue(id, this.#generation, clock.now(), this.#paceOf(id))
        queues.set(id, queue)
        reader.requestRefill(queue)
      }
    }
    this.#crowded = fitting.length < subscriberIds.length
    if (this.#crowded) this.#makeRoom()
    return { tried: fitting, areAllTried: !this.#crowded }
  }

  /** Releases idle queues if there are any; else drains the queues that had their turn. */
  #makeRoom(): void {
    const { clock, queues, reader } = this.#parts
    const now = clock.now()
    for (const queue of queues.values()) if (this.#isIdle(queue) && queue.pace.healthy) return this.scan()
    for (const queue of queues.values())
      if (hadTurn(queue, now)) {
        queue.draining = true
        reader.discard(queue)
      }
  }

  /** Releases the queues with nothing in flight that are drained, that have no active subscriber, or that were not used lately. */
  async #releaseIdle(): Promise<void> {
    const { clock, queues, store } = this.#parts
    const now = clock.now()
    const released: string[] = []
    for (const queue of queues.values()) {
      if (!this.#isIdle(queue) || !isUnneeded(queue, now, this.#crowded)) continue
      queues.delete(queue.id)
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
    return queue.empty && !this.#parts.reader.isRefillRequested(queue)
  }
}

/** Milliseconds for which a queue that another process owned is not claimed again. Then that process may have released it. */
const foreignFor = 1_000

/** The queues that another process owned when this process tried to claim them. */
class ForeignQueues {
  /** By subscriber, when this process found the queue owned by another one. */
  readonly #foundAt = new Map<string, number>()

  /** Whether another process owned the queue a moment ago. */
  has(subscriberId: string, now: number): boolean {
    const foundAt = this.#foundAt.get(subscriberId)
    return foundAt !== undefined && isRecent(foundAt, now)
  }

  /** Records which queues another process owned, and forgets those that were found long ago. */
  record(subscriberIds: readonly string[], now: number): void {
    for (const [id, foundAt] of this.#foundAt) if (!isRecent(foundAt, now)) this.#foundAt.delete(id)
    for (const id of subscriberIds) this.#foundAt.set(id, now)
  }
}

function isRecent(foundAt: number, now: number): boolean {
  return Math.abs(now - foundAt) < foreignFor
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
  const isInactive = !queue.destination && !queue.stale
  return isInactive || (queue.pace.healthy && (crowded || now - queue.lastUsedAt >= idleTimeout))
}

/** Whether the queue had its turn, and must make room if other subscribers wait. */
function hadTurn({ createdAt }: SubscriberQueue, now: number): boolean {
  return now - createdAt >= turnLength
}
