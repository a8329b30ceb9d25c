import type { DueDelivery, DeliveryStore, EventPayload } from '../store.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

/** Bytes. Larger payloads are read just before the attempt, because thousands of deliveries may wait in memory. */
export const longestCached = 8 * 1024
/** Cached payloads. An event often goes to several subscribers. */
const most = 500

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

  /** Reads a payload of any size; `undefined` if it was removed, or if the number stands for another event now. */
  async one(delivery: EventOf): Promise<EventPayload | undefined> {
    return this.#find(delivery) ?? matching(delivery, (await this.#read([delivery])).get(delivery.event))
  }

  add(payload: EventPayload): void {
    if (payload.nonce !== null && payload.payload.length <= longestCached)
      this.#cache.set(payload.nonce, payload)
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
