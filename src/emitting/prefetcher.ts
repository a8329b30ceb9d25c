import type { Clock, Random } from '../runtime/clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { Destinations } from './destinations.ts'
import { SubscriberQueue, type QueuedDelivery } from './subscriber-queue.ts'
import { Payloads } from './payloads.ts'
import { startPosition, type DeliveryStore, type CommittedDelivery } from './store.ts'
import { prefetchLimit, isLow, queuesToRead, readRequests } from './prefetch-plan.ts'

/** Lanes that have something to do, at most; then some go, so that others have their turn. */
const mostLanes = 512
/** Pages of subscribers that one look goes through. */
const pagesPerLook = 25
/** Milliseconds until a destination is read again. */
const trustedFor = 1_000
/** Milliseconds without work until a queue is let go. */
const idleFor = 60_000
/** Milliseconds of work until a queue that others wait for is let go. */
const turn = 1_000
/** Milliseconds for which a queue that was found with another process is not asked for again: it may be let go. */
const elsewhereFor = 1_000
/** Milliseconds between two looks, unless there is nothing to do meanwhile. */
const pause = 20

export interface PrefetcherParts {
  store: DeliveryStore
  destinations: Pick<Destinations, 'open'>
  clock: Clock
  random: Random
  log: Log
  /** A queue has something that may begin. */
  onFilled: (queue: SubscriberQueue) => void
  /** A queue of another process has more to deliver. */
  notifyOwner: (subscriberId: string) => void
  /** Whatever is under way is somebody else's from now on. */
  onLost: () => void
  /** The queues are surely ours again. */
  onRegained: () => void
  /** A look at what is due has got on. */
  onProgress?: () => void
}

/**
 * Keeps the queues of this process supplied: finds subscribers with due work, takes their queues, and reads ahead of what is
 * sent. Reading costs the same however much waits: each queue goes on behind what it read last.
 */
export class Prefetcher {
  readonly #parts: PrefetcherParts
  readonly #queues = new Map<string, SubscriberQueue>()
  /** Deliveries in memory. Reading finds them again until they are written down. */
  readonly #held = new Map<number, SubscriberQueue>()
  /** Written down while a read was under way, which may have seen them before. */
  readonly #settled: number[] = []
  readonly #refillRequests = new Set<SubscriberQueue>()
  /** Subscribers that are known to have something. */
  readonly #markedDue = new Set<string>()
  /** Those of them for which there is something new, whose owners of the queues must be notified. */
  readonly #untold = new Set<string>()
  /** Subscribers whose queues other processes had, and when that was found. */
  readonly #elsewhere = new Map<string, number>()
  readonly payloads: Payloads
  #made = 0
  #attending = false
  #looking: Promise<void> | undefined
  #again = false
  #reading: Promise<void> | undefined
  #after = ''
  /** Whether subscribers wait for a queue. */
  #crowded = false
  /** How often all queues were lost or dropped. */
  #losses = 0
  #stopped = false

  constructor(parts: PrefetcherParts) {
    this.#parts = parts
    this.payloads = new Payloads(parts.store)
  }

  /** Grows with every queue that is made. */
  get generation(): number {
    return this.#made
  }

  get queues(): Iterable<SubscriberQueue> {
    return this.#queues.values()
  }

  /** Looks for subscribers that have something, now or again when the look that is under way has ended. */
  scan(): void {
    if (this.#stopped) return
    if (this.#looking) {
      this.#again = true
      return
    }
    this.#again = false
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      // What is asked for while there is enough to do is asked for again and again.
      if (this.#held.size === 0) this.scan()
      else this.#parts.clock.after(pause, () => this.scan())
    })
  }

  /** Reads more for a queue, together with whatever others want by then. */
  requestRefill(queue: SubscriberQueue): void {
    if (this.#stopped) return
    this.#refillRequests.add(queue)
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
      this.#forgetSettled()
      const [next] = this.#refillRequests
      if (next) this.requestRefill(next)
    })
  }

  /** There may be more in the table of what a subscriber gets. */
  markDue(subscriberId: string): void {
    const queue = this.#queues.get(subscriberId)
    if (queue) {
      queue.firstAttempts.mayHaveMore = queue.retries.mayHaveMore = true
      this.requestRefill(queue)
    } else {
      this.#markedDue.add(subscriberId)
      this.scan()
    }
  }

  /** Nothing begins for it before it was read again. If it was resumed, it is not looked for among all that are paused. */
  changed(subscriberId: string): void {
    const queue = this.#queues.get(subscriberId)
    if (!queue) return this.markDue(subscriberId)
    queue.changeCount += 1
    queue.stale = true
    this.requestRefill(queue)
  }

  /**
   * The database was taken back to an earlier state, in which queues may be other processes': all are taken and read again. What is
   * under way goes on, and is recorded if its delivery is still there.
   */
  databaseRestored(): void {
    this.payloads.forgetAll()
    this.#dropLanes()
    this.scan()
  }

  /**
   * Takes deliveries that a transaction of this process has just committed, as far as their queues have room. What it does
   * not take is read; the owners of queues that are not ours are notified.
   */
  offer(offered: readonly CommittedDelivery[]): void {
    const now = this.#parts.clock.now()
    for (const { delivery, payload, generation } of offered) {
      const queue = this.#queues.get(delivery.subscriberId)
      const takes =
        queue !== undefined &&
        queue.generation <= generation &&
        !queue.draining &&
        queue.destination?.ordered === false &&
        delivery.dueAt <= now &&
        delivery.id > queue.highestId &&
        queue.firstAttempts.waiting.length < this.#ahead(queue)
      this.payloads.keep(payload)
      if (!takes) {
        if (queue && !queue.draining) this.markDue(queue.id)
        else this.#offerElsewhere(delivery.subscriberId, now)
        continue
      }
      const old = now - queue.destinationReadAt >= trustedFor
      // Nothing happened for a while: the subscriber is read again first, and nothing else is.
      if (old && queue.inMemory === 0) queue.stale = true
      this.#hold(queue, [{ delivery, payload }], queue.firstAttempts.waiting)
      if (old) this.requestRefill(queue)
      this.#parts.onFilled(queue)
    }
  }

  #offerElsewhere(subscriberId: string, now: number): void {
    const found = this.#elsewhere.get(subscriberId)
    if (found !== undefined && Math.abs(now - found) < elsewhereFor)
      return this.#parts.notifyOwner(subscriberId)
    this.#untold.add(subscriberId)
    this.markDue(subscriberId)
  }

  /** There is more for a subscriber, if its queue is ours. */
  markDueIfOwned(subscriberId: string): void {
    if (this.#queues.has(subscriberId)) this.markDue(subscriberId)
  }

  /** A delivery is written down, or given up: the table has the truth about it. */
  settle(id: number): void {
    if (this.#reading) this.#settled.push(id)
    else this.#forget(id)
  }

  /** To be called every second: what other processes changed is heard of, and what nobody told of is found. */
  refresh(): void {
    const now = this.#parts.clock.now()
    for (const queue of this.#queues.values())
      if (queue.waiting > 0 && now - queue.destinationReadAt >= trustedFor) this.requestRefill(queue)
    this.scan()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const queue of this.#queues.values()) this.#empty(queue)
    await this.#looking
    await this.#reading
    for (const queue of this.#queues.values()) this.#empty(queue)
  }

  async #look(): Promise<void> {
    const { store, clock, log, onProgress: looked } = this.#parts
    try {
      await this.#attend()
      await this.#letGo()
      const hinted = [...this.#markedDue]
      this.#markedDue.clear()
      if (hinted.length > 0) {
        await this.#take(hinted)
        this.#tellOthers(hinted)
      }
      const began = this.#after
      let wrapped = began === ''
      for (let pages = 0; pages < pagesPerLook && !this.#stopped; pages += 1) {
        const { ids, next } = await store.subscribersDue(clock.now(), this.#after)
        for (const id of ids) if (this.#queues.has(id)) this.markDue(id)
        const others = ids.filter((id) => !this.#queues.has(id))
        const tookAll = await this.#take(others)
        looked?.()
        if (!tookAll) return
        this.#after = next ?? ''
        if (next === undefined && wrapped) return
        if (next === undefined) wrapped = true
        else if (wrapped && began !== '' && next >= began) return
      }
    } catch (error) {
      // The database may be away for a while: the next look tries again.
      log.error({ err: error }, 'due deliveries could not be looked for')
    }
  }

  async #attend(): Promise<void> {
    if (this.#attending) return
    const { store, onRegained: regained } = this.#parts
    await store.acquireSession({ lost: () => this.#lose(), freed: () => this.scan(), regained })
    this.#attending = true
  }

  /** Of subscribers whose queues were asked for and are not ours. */
  #tellOthers(subscriberIds: readonly string[]): void {
    const now = this.#parts.clock.now()
    for (const [id, found] of this.#elsewhere)
      if (Math.abs(now - found) >= elsewhereFor) this.#elsewhere.delete(id)
    for (const id of subscriberIds) {
      const queue = this.#queues.get(id)
      const news = this.#untold.delete(id)
      if (queue) continue
      this.#elsewhere.set(id, now)
      if (news) this.#parts.notifyOwner(id)
    }
  }

  /** False when there is no room for all of them: then it is somebody's turn to go. */
  async #take(subscriberIds: readonly string[]): Promise<boolean> {
    const { store, clock, random } = this.#parts
    const wanted = subscriberIds.slice(0, Math.max(0, mostLanes - this.#queues.size))
    if (wanted.length > 0) {
      const losses = this.#losses
      const taken = await store.claim(wanted)
      // They were taken by whom others take for dead.
      if (losses !== this.#losses) return false
      for (const id of taken) {
        if (this.#queues.has(id)) continue
        const queue = new SubscriberQueue(id, (this.#made += 1), clock.now(), random)
        this.#queues.set(id, queue)
        this.requestRefill(queue)
      }
    }
    this.#crowded = wanted.length < subscriberIds.length
    if (this.#crowded) this.#makeRoom()
    return !this.#crowded
  }

  /** Others wait: who has had a turn takes no more, unless some have nothing to do. */
  #makeRoom(): void {
    const now = this.#parts.clock.now()
    const queues = [...this.#queues.values()]
    if (queues.some((queue) => this.#isIdle(queue) && queue.releasable)) return this.scan()
    for (const queue of queues)
      if (now - queue.createdAt >= turn) {
        queue.draining = true
        this.#empty(queue)
      }
  }

  /** Lanes that have nothing under way, if they had their turn or nothing to do for a while. */
  async #letGo(): Promise<void> {
    const now = this.#parts.clock.now()
    const going: string[] = []
    for (const queue of this.#queues.values()) {
      if (!this.#isIdle(queue)) continue
      const inactive = !queue.destination && !queue.stale
      const unused = queue.releasable && (this.#crowded || now - queue.lastUsedAt >= idleFor)
      const owes = !this.#crowded && queue.mustWaitForRate(now)
      if (!queue.draining && (owes || !(inactive || unused))) continue
      this.#queues.delete(queue.id)
      going.push(queue.id)
    }
    if (going.length > 0) await this.#parts.store.release(going)
  }

  #isIdle(queue: SubscriberQueue): boolean {
    return queue.inMemory === 0 && queue.inFlight === 0 && !this.#refillRequests.has(queue)
  }

  /** What is under way is broken off by whoever is told; what waits goes at once. */
  #lose(): void {
    this.#dropLanes()
    this.#parts.onLost()
    this.scan()
  }

  #dropLanes(): void {
    this.#losses += 1
    for (const queue of this.#queues.values()) this.#empty(queue)
    this.#queues.clear()
    this.#refillRequests.clear()
  }

  async #readAll(): Promise<void> {
    // What is wanted in this same turn of the loop is read together.
    await Promise.resolve()
    try {
      while (this.#refillRequests.size > 0 && !this.#stopped) {
        const queues = queuesToRead(this.#refillRequests, this.#queues)
        for (const queue of queues) this.#refillRequests.delete(queue)
        await this.#check(queues)
        await this.#read(queues.filter((queue) => this.#queues.get(queue.id) === queue && queue.destination))
        this.#forgetSettled()
      }
    } catch (error) {
      // The queues want it again at the next look.
      this.#parts.log.error({ err: error }, 'due deliveries could not be read')
      this.#refillRequests.clear()
    }
  }

  /** Reads the subscribers again that were not read for a while. */
  async #check(queues: readonly SubscriberQueue[]): Promise<void> {
    const { store, destinations, clock, log } = this.#parts
    const now = clock.now()
    const unsure = queues.filter(
      (queue) => queue.stale || !queue.destination || now - queue.destinationReadAt >= trustedFor,
    )
    if (unsure.length === 0) return
    const changes = new Map(unsure.map((queue) => [queue, queue.changeCount]))
    const rows = await store.activeSubscribers(unsure.map(({ id }) => id)).catch((error: unknown) => {
      for (const queue of unsure) queue.stale = true
      throw error
    })
    const found = new Map(rows.map((row) => [row.id, row]))
    await Promise.all(
      unsure.map(async (queue) => {
        const row = found.get(queue.id)
        const before = queue.destination
        queue.destinationReadAt = now
        try {
          queue.destination = row && (await destinations.open(row))
        } catch (error) {
          // A secret that cannot be opened (a lost master key) must not hold up the others.
          log.error({ err: error, subscriberId: queue.id }, 'a subscriber cannot be delivered to')
          queue.destination = undefined
        }
        // What changed meanwhile is wanted again.
        queue.stale = queue.changeCount !== changes.get(queue)
        if (!queue.destination || (before && before.ordered !== queue.destination.ordered)) this.#empty(queue)
        if (queue.waiting > 0) this.#parts.onFilled(queue)
      }),
    )
  }

  async #read(queues: readonly SubscriberQueue[]): Promise<void> {
    const { store, clock } = this.#parts
    const now = clock.now()
    const wanted = queues.flatMap((queue) => readRequests(queue, now, this.#ahead(queue)))
    if (wanted.length === 0) return
    const rows = await store.readDue(wanted, now)
    const found = Map.groupBy(rows, ({ subscriberId }) => subscriberId)
    const news = rows.filter(({ id }) => !this.#held.has(id))
    const payloadOf = await this.payloads.small(news)
    const byQueue = new Map(queues.map((queue) => [queue.id, queue]))
    for (const want of wanted) {
      const queue = byQueue.get(want.subscriberId)!
      if (queue.draining || this.#stopped || this.#queues.get(queue.id) !== queue) continue
      const read = (found.get(queue.id) ?? []).filter(
        ({ number }) => want.ordered || want.retries === number > 1,
      )
      const stock = !want.ordered && want.retries ? queue.retries : queue.firstAttempts
      if (want.ordered) stock.mayHaveMore = false
      else {
        stock.mayHaveMore = read.length === want.count
        stock.position = stock.mayHaveMore ? read.at(-1)! : startPosition
      }
      const unheld = read.filter(({ id }) => !this.#held.has(id))
      this.#hold(
        queue,
        unheld.map((delivery) => ({ delivery, payload: payloadOf(delivery) })),
        stock.waiting,
      )
      if (queue.waiting > 0) this.#parts.onFilled(queue)
      // All that was read is under way: what is wanted lies behind it.
      if (stock.mayHaveMore && unheld.length === 0) this.requestRefill(queue)
    }
  }

  #ahead(queue: SubscriberQueue): number {
    return prefetchLimit(queue, this.#queues.size)
  }

  isLow = (queue: SubscriberQueue): boolean => isLow(queue, this.#ahead(queue))

  #hold(queue: SubscriberQueue, queued: readonly QueuedDelivery[], waiting: QueuedDelivery[]): void {
    for (const one of queued) {
      this.#held.set(one.delivery.id, queue)
      queue.inMemory += 1
      queue.highestId = Math.max(queue.highestId, one.delivery.id)
      waiting.push(one)
    }
    if (queued.length > 0) queue.lastUsedAt = this.#parts.clock.now()
  }

  #forgetSettled(): void {
    for (const id of this.#settled.splice(0)) this.#forget(id)
  }

  #forget(id: number): void {
    const queue = this.#held.get(id)
    if (!queue) return
    this.#held.delete(id)
    queue.inMemory -= 1
    if (this.#crowded && queue.inMemory === 0) this.scan()
  }

  /** Forgets what waits. */
  #empty(queue: SubscriberQueue): void {
    for (const stock of [queue.firstAttempts, queue.retries])
      for (const { delivery } of stock.clear()) this.settle(delivery.id)
  }
}
