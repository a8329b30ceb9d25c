import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { RepeatedPass } from '../../runtime/repeated-pass.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Row } from '../../storage/tables.ts'
import type { Endpoints } from './endpoints.ts'
import {
  type DeliveryStore,
  type DueDelivery,
  type EventPayload,
  type ReadRequest,
  startPosition,
} from '../store.ts'
import type { QueuedDelivery, SubscriberQueue } from './subscriber-queue.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Milliseconds until an endpoint is read again. This bounds how long an unreported change goes unnoticed. */
export const endpointMaxAge = 1_000
/** The most subscribers whose unreadable secrets are remembered as logged. */
const maxReported = 10_000

interface QueueReaderParts extends Pick<ModuleParts, 'clock' | 'log'> {
  store: DeliveryStore
  endpoints: Pick<Endpoints, 'open'>
  /** The queues that this process owns, by subscriber. */
  queues: ReadonlyMap<string, SubscriberQueue>
  /** Called when a queue has deliveries that may start. */
  onFilled: (queue: SubscriberQueue) => void
  /** Called when a queue has no delivery in memory any more. */
  onEmptied: () => void
}

/**
 * Reads due deliveries into the queues of this process, many queues with one statement. Each queue continues behind the last
 * delivery that it read, so the cost of a read does not depend on how many deliveries wait.
 */
export class QueueReader {
  readonly #parts: QueueReaderParts
  readonly #refillRequests = new Set<SubscriberQueue>()
  /** Deliveries that wait, are in flight or are being recorded. Until they are recorded, a read can return them again. */
  readonly #inMemory = new Map<number, SubscriberQueue>()
  /** Deliveries that ended during a read, whose snapshot may still show them as pending. */
  readonly #endedDuringRead: number[] = []
  /** By subscriber, the version whose secrets or destination could not be used: each is read again every second, and logged once. */
  readonly #reported = new BoundedCache<string, number>(maxReported)
  readonly payloads: Payloads
  readonly #reads = new RepeatedPass(() => this.#readAll())
  #isReading = false
  #stopped = false

  constructor(parts: QueueReaderParts) {
    this.#parts = parts
    this.payloads = new Payloads(parts.store)
  }

  /** Whether any delivery is in memory. */
  get hasWork(): boolean {
    return this.#inMemory.size > 0
  }

  /** Whether a read for the queue was requested and has not begun. */
  isRefillRequested(queue: SubscriberQueue): boolean {
    return this.#refillRequests.has(queue)
  }

  /** Requests more deliveries for a queue. Requests of one turn of the event loop share a read. */
  requestRefill(queue: SubscriberQueue): void {
    if (this.#stopped) return
    this.#refillRequests.add(queue)
    this.#reads.request()
  }

  cancelRefills(): void {
    this.#refillRequests.clear()
  }

  /** Adds deliveries that are not in memory yet to a buffer of the queue. */
  enqueue(queue: SubscriberQueue, deliveries: readonly QueuedDelivery[], buffer: QueuedDelivery[]): void {
    for (const queued of deliveries) {
      this.#inMemory.set(queued.delivery.id, queue)
      queue.inMemory += 1
      queue.highestId = Math.max(queue.highestId, queued.delivery.id)
      buffer.push(queued)
    }
    if (deliveries.length > 0) queue.lastUsedAt = this.#parts.clock.now()
  }

  /** Called when the delivery is recorded, or this process gave it up: from now on only the table has its state. */
  forget(id: number): void {
    if (this.#isReading) this.#endedDuringRead.push(id)
    else this.#forgetNow(id)
  }

  /** Forgets the waiting deliveries of a queue, which is read from the beginning again. */
  discard(queue: SubscriberQueue): void {
    for (const { delivery } of queue.firstAttempts.clear()) this.forget(delivery.id)
    for (const { delivery } of queue.retries.clear()) this.forget(delivery.id)
  }

  /** Starts no further read. */
  stop(): void {
    this.#stopped = true
    this.#reads.stop()
  }

  /** Resolves when the current read has ended. */
  idle(): Promise<void> {
    return this.#reads.ended()
  }

  async #readAll(): Promise<void> {
    const { queues } = this.#parts
    this.#isReading = true
    // Requests that come in this same turn of the event loop join this read.
    await Promise.resolve()
    try {
      while (this.#refillRequests.size > 0 && !this.#stopped) {
        const some = queuesToRead(this.#refillRequests, queues)
        for (const queue of some) this.#refillRequests.delete(queue)
        await this.#refreshEndpoints(some)
        await this.#readDeliveries(some.filter((queue) => this.#isOwned(queue) && queue.endpoint))
        this.#forgetEnded()
      }
    } catch (error) {
      // The next scan requests a refill again.
      this.#parts.log.error({ err: error }, 'due deliveries could not be read')
      this.#refillRequests.clear()
    }
    this.#isReading = false
    this.#forgetEnded()
  }

  /** Reads the endpoints again that are stale or too old. One that could not be read is stale. */
  async #refreshEndpoints(queues: readonly SubscriberQueue[]): Promise<void> {
    const { store, clock } = this.#parts
    const now = clock.now()
    const outdated = queues.filter(
      (queue) => queue.stale || !queue.endpoint || now - queue.endpointReadAt >= endpointMaxAge,
    )
    if (outdated.length === 0) return
    const rows = store.activeSubscribers(outdated.map(({ id }) => id))
    const rowOf = rows.then((found) => new Map(found.map((row) => [row.id, row])))
    await Promise.all(outdated.map((queue) => this.#refresh(queue, rowOf, now)))
  }

  async #refresh(
    queue: SubscriberQueue,
    rowOf: Promise<ReadonlyMap<string, Row<'subscribers'>>>,
    now: number,
  ): Promise<void> {
    const { changeCount } = queue
    const orderedBefore = queue.endpoint?.ordered
    try {
      queue.endpoint = await this.#open((await rowOf).get(queue.id))
    } catch (error) {
      queue.stale = true
      throw error
    }
    queue.endpointReadAt = now
    // The subscriber changed again during the read: the endpoint must be read once more.
    queue.stale = queue.changeCount !== changeCount
    const orderChanged = orderedBefore !== undefined && orderedBefore !== queue.endpoint?.ordered
    if (!queue.endpoint || orderChanged) this.discard(queue)
    if (queue.waiting > 0) this.#parts.onFilled(queue)
  }

  async #open(row: Row<'subscribers'> | undefined) {
    if (!row) return undefined
    try {
      return await this.#parts.endpoints.open(row)
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error
      // One secret that cannot be decrypted, for example after the loss of a master key, must not stop the other subscribers.
      this.#reportUnusable(row, error)
      return undefined
    }
  }

  #reportUnusable({ id, updated_at: version }: Row<'subscribers'>, error: unknown): void {
    if (this.#reported.get(id) === version) return
    this.#reported.set(id, version)
    this.#parts.log.error({ err: error, subscriberId: id }, 'the settings of a subscriber cannot be used')
  }

  async #readDeliveries(queues: readonly SubscriberQueue[]): Promise<void> {
    const { store, clock } = this.#parts
    const now = clock.now()
    const limit = (queue: SubscriberQueue): number => prefetchLimit(queue, this.#parts.queues.size)
    const requests = queues.flatMap((queue) => readRequests(queue, now, limit(queue)))
    if (requests.length === 0) return
    const rows = await store.readDue(requests, now)
    const rowsOf = Map.groupBy(rows, ({ subscriberId }) => subscriberId)
    const payloadOf = await this.payloads.small(rows.filter(({ id }) => !this.#inMemory.has(id)))
    const queueOf = new Map(queues.map((queue) => [queue.id, queue]))
    for (const request of requests) {
      const queue = queueOf.get(request.subscriberId)!
      if (queue.draining || this.#stopped || !this.#isOwned(queue)) continue
      this.#fill(queue, request, rowsOf.get(queue.id) ?? [], payloadOf)
    }
  }

  /** @param rows of all requests for the queue */
  #fill(
    queue: SubscriberQueue,
    request: ReadRequest,
    rows: readonly DueDelivery[],
    payloadOf: (delivery: DueDelivery) => QueuedDelivery['payload'],
  ): void {
    const found = rows.filter(({ number }) => request.ordered || request.retries === number > 1)
    const buffer = !request.ordered && request.retries ? queue.retries : queue.firstAttempts
    if (request.ordered) buffer.mayHaveMore = false
    else {
      buffer.mayHaveMore = found.length === request.count
      buffer.position = buffer.mayHaveMore ? found.at(-1)! : startPosition
    }
    const unseen = found.filter(({ id }) => !this.#inMemory.has(id))
    this.enqueue(
      queue,
      unseen.map((delivery) => ({ delivery, payload: payloadOf(delivery) })),
      buffer.waiting,
    )
    if (queue.waiting > 0) this.#parts.onFilled(queue)
    // Everything found is in memory already: read on behind it.
    if (buffer.mayHaveMore && unseen.length === 0) this.requestRefill(queue)
  }

  /** False for a queue that was released or dropped, even if its subscriber has a new queue here. */
  #isOwned(queue: SubscriberQueue): boolean {
    return this.#parts.queues.get(queue.id) === queue
  }

  #forgetEnded(): void {
    for (const id of this.#endedDuringRead.splice(0)) this.#forgetNow(id)
  }

  #forgetNow(id: number): void {
    const queue = this.#inMemory.get(id)
    if (!queue) return
    this.#inMemory.delete(id)
    queue.inMemory -= 1
    if (queue.inMemory === 0) this.#parts.onEmptied()
  }
}

/** Deliveries that wait in memory in all queues, divided by their number. `minPerQueue` can exceed a share. */
const maxWaiting = 4_000
/** The most deliveries that wait in one buffer of a queue. */
const maxPerQueue = 256
/** A queue holds up to this multiple of its concurrency: enough to work on while more is read. */
const concurrencyFactor = 8
const minPerQueue = 8
/** Queues that one read serves. */
const queuesPerRead = 200
/** Milliseconds until reading starts from the beginning again, to find deliveries that were committed late. */
const rescanInterval = 5_000

/** The most waiting deliveries of each kind, first attempts or retries, for a queue, given the number of queues. */
export function prefetchLimit({ endpoint }: SubscriberQueue, queues: number): number {
  const concurrency = endpoint?.concurrency ?? 1
  const fairShare = Math.max(minPerQueue, Math.floor(maxWaiting / Math.max(1, queues)))
  return Math.min(maxPerQueue, fairShare, Math.max(minPerQueue, concurrency * concurrencyFactor))
}

/** A queue requests a refill when it is filled to less than this share of its limit. It joins the reads of others up to a larger one. */
export const refillBelow = 0.5
const joinBelow = 0.8

/** Whether a read may find deliveries for a queue that is filled to less than a share of its limit. */
export function isLow(queue: SubscriberQueue, limit: number, share: number): boolean {
  const { endpoint, draining, inMemory, firstAttempts, retries } = queue
  if (draining) return false
  if (endpoint?.ordered) return inMemory === 0 && firstAttempts.mayHaveMore
  const most = limit * share
  return (
    (firstAttempts.mayHaveMore && firstAttempts.waiting.length <= most) ||
    (retries.mayHaveMore && retries.waiting.length <= most)
  )
}

/**
 * The queues of one read: those that requested it, and others that have space. The deliveries of one event lie together in the
 * table, so separate reads would go through the same pages again and again.
 */
function queuesToRead(
  requested: ReadonlySet<SubscriberQueue>,
  all: ReadonlyMap<string, SubscriberQueue>,
): SubscriberQueue[] {
  const chosen = new Set([...requested].slice(0, queuesPerRead))
  for (const queue of all.values()) {
    if (chosen.size >= queuesPerRead) break
    if (queue.endpoint && isLow(queue, prefetchLimit(queue, all.size), joinBelow)) chosen.add(queue)
  }
  return [...chosen]
}

/** What is to be read for a queue now. @param limit of `prefetchLimit` */
function readRequests(queue: SubscriberQueue, now: number, limit: number): ReadRequest[] {
  const { endpoint, id: subscriberId } = queue
  if (!endpoint || queue.draining) return []
  if (endpoint.ordered) return queue.inMemory === 0 ? [{ subscriberId, ordered: true }] : []
  if (now - queue.rescannedAt >= rescanInterval) {
    queue.rescannedAt = now
    queue.firstAttempts.position = queue.retries.position = startPosition
  }
  return [queue.firstAttempts, queue.retries].flatMap((buffer) => {
    const count = limit - buffer.waiting.length
    if (!buffer.mayHaveMore || count <= 0) return []
    // A read from the beginning finds again what is in memory.
    const again = buffer.position === startPosition ? queue.inMemory : 0
    const retries = buffer === queue.retries
    return [{ subscriberId, ordered: false as const, retries, behind: buffer.position, count: count + again }]
  })
}

/** Bytes. Larger payloads are read just before the attempt, because thousands of deliveries may wait in memory. */
export const longestCached = 8 * 1024
/** Cached payloads. An event often goes to several subscribers. */
const most = 500
/** The most removed payloads that are remembered. */
const mostRemoved = 10_000

/** The event of a delivery. */
type EventOf = Pick<DueDelivery, 'event' | 'nonce'>

/**
 * Reads payloads and caches the last small ones. The key is the nonce of the event: after a restore of the database, the same
 * number can stand for another event. So a payload that was read by number is used only if its nonce matches the delivery.
 */
export class Payloads {
  readonly #store: Pick<DeliveryStore, 'readPayloads'>
  /** By nonce. Events of older versions have none: their payloads are read each time. */
  readonly #cache = new BoundedCache<number, EventPayload>(most)

  /** By nonce: recently removed payloads, which deliveries in memory may still have. */
  readonly #removed = new BoundedCache<number, true>(mostRemoved)

  constructor(store: Pick<DeliveryStore, 'readPayloads'>) {
    this.#store = store
  }

  /** Reads the small payloads for these deliveries. For a delivery without one here, call `one`. */
  async small(deliveries: readonly EventOf[]): Promise<(delivery: EventOf) => EventPayload | undefined> {
    const found = new Map<number | null, EventPayload>()
    const missing: EventOf[] = []
    for (const delivery of deliveries) {
      const payload = this.#find(delivery)
      if (payload) found.set(delivery.nonce, payload)
      else missing.push(delivery)
    }
    const read = missing.length > 0 ? await this.#read(missing, longestCached) : undefined
    for (const payload of read?.values() ?? []) this.add(payload)
    return (delivery) => found.get(delivery.nonce) ?? matching(delivery, read?.get(delivery.event))
  }

  /**
   * Reads a payload of any size; `undefined` if it was removed, or if the number stands for another event now.
   * @param read the payload, if it has been read already
   */
  async one(delivery: EventOf, read?: EventPayload): Promise<EventPayload | undefined> {
    if (delivery.nonce !== null && this.#removed.has(delivery.nonce)) return undefined
    return (
      read ?? this.#find(delivery) ?? matching(delivery, (await this.#read([delivery])).get(delivery.event))
    )
  }

  add(payload: EventPayload): void {
    if (payload.nonce !== null && payload.payload.length <= longestCached)
      this.#cache.set(payload.nonce, payload)
  }

  /** Forgets a removed payload: `one` no longer returns it, even to a delivery that has read it already. */
  forget(nonce: number): void {
    this.#cache.delete(nonce)
    this.#removed.set(nonce, true)
  }

  forgetAll(): void {
    this.#cache.clear()
  }

  #find({ nonce }: Pick<EventOf, 'nonce'>): EventPayload | undefined {
    return nonce === null ? undefined : this.#cache.get(nonce)
  }

  #read(deliveries: readonly EventOf[], longest?: number): Promise<Map<number, EventPayload>> {
    return this.#store.readPayloads([...new Set(deliveries.map(({ event }) => event))], longest)
  }
}

function matching({ nonce }: EventOf, payload: EventPayload | undefined): EventPayload | undefined {
  return payload?.nonce === nonce ? payload : undefined
}
