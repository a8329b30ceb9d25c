import type { Clock, Random } from '../../runtime/clock.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Destinations } from './destinations.ts'
import type { Payloads } from './payloads.ts'
import { isLow, prefetchLimit } from './prefetch-plan.ts'
import { QueueOwnership, type OwnershipListeners } from './queue-ownership.ts'
import { destinationMaxAge, QueueReader } from './queue-reader.ts'
import type { CommittedDelivery, DeliveryStore } from '../store.ts'
import type { SubscriberQueue } from './subscriber-queue.ts'

export interface PrefetcherParts extends OwnershipListeners {
  store: DeliveryStore
  destinations: Pick<Destinations, 'open'>
  clock: Clock
  random: Random
  log: Log
  /** Called when a queue has deliveries that may start. */
  onFilled: (queue: SubscriberQueue) => void
}

/**
 * Reads due deliveries into memory before the dispatcher needs them. `QueueOwnership` decides for which subscribers,
 * `QueueReader` reads their deliveries. Deliveries that this process has just committed skip the read.
 */
export class Prefetcher {
  readonly #parts: PrefetcherParts
  /** The queues that this process owns, by subscriber. Only `QueueOwnership` adds and removes them. */
  readonly #queues: ReadonlyMap<string, SubscriberQueue>
  readonly #reader: QueueReader
  readonly #ownership: QueueOwnership

  constructor(parts: PrefetcherParts) {
    this.#parts = parts
    const queues = new Map<string, SubscriberQueue>()
    this.#queues = queues
    this.#reader = new QueueReader({ ...parts, queues, onEmptied: () => this.#ownership.queueEmptied() })
    this.#ownership = new QueueOwnership({ ...parts, queues, reader: this.#reader })
  }

  /** Increases with each queue that this process claims. */
  get generation(): number {
    return this.#ownership.generation
  }

  get queues(): Iterable<SubscriberQueue> {
    return this.#queues.values()
  }

  get payloads(): Payloads {
    return this.#reader.payloads
  }

  /** Starts a scan for due subscribers, or schedules one after the current scan. */
  scan(): void {
    this.#ownership.scan()
  }

  /** The subscriber may have due deliveries: refills its queue, or claims it. */
  markDue(subscriberId: string): void {
    this.#ownership.markDue(subscriberId)
  }

  /** The same, unless another process owns the queue. */
  markDueIfOwned(subscriberId: string): void {
    if (this.#queues.has(subscriberId)) this.markDue(subscriberId)
  }

  /**
   * The subscriber was changed: starts none of its deliveries before its destination is read again. Without a queue here it is
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
    this.#ownership.dropAll()
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
      if (!queue || queue.draining) this.#ownership.claimOrNotify(subscriberId, now)
      else if (this.#accepts(queue, one, now)) this.#enqueue(queue, one, now)
      else this.markDue(subscriberId)
    }
  }

  requestRefill(queue: SubscriberQueue): void {
    this.#reader.requestRefill(queue)
  }

  /** Whether the queue should be refilled. */
  isLow(queue: SubscriberQueue): boolean {
    return isLow(queue, this.#limit(queue))
  }

  /** Called when the delivery is recorded, or this process gave it up: from now on only the table has its state. */
  forget(id: number): void {
    this.#reader.forget(id)
  }

  /** Called every second. Finds changes and deliveries whose notifications were lost. */
  refresh(): void {
    const now = this.#parts.clock.now()
    for (const queue of this.#queues.values())
      if (queue.waiting > 0 && now - queue.destinationReadAt >= destinationMaxAge)
        this.#reader.requestRefill(queue)
    this.scan()
  }

  async stop(): Promise<void> {
    const scanEnded = this.#ownership.stop()
    this.#reader.stop()
    this.#discardAll()
    await scanEnded
    await this.#reader.idle()
    this.#discardAll()
  }

  /** Whether the delivery may be enqueued without a read: it must be due, unordered, and behind all that was read. */
  #accepts(queue: SubscriberQueue, { delivery, generation }: CommittedDelivery, now: number): boolean {
    return (
      queue.generation <= generation &&
      queue.destination?.ordered === false &&
      delivery.dueAt <= now &&
      delivery.id > queue.highestId &&
      queue.firstAttempts.waiting.length < this.#limit(queue)
    )
  }

  #enqueue(queue: SubscriberQueue, { delivery, payload }: CommittedDelivery, now: number): void {
    const outdated = now - queue.destinationReadAt >= destinationMaxAge
    // After a while without work the destination is read again before anything starts.
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
}
