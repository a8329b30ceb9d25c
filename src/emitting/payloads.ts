import type { ClaimedDelivery, DeliveryStore, EventPayload } from './store.ts'

/** Longer ones are read when they are sent, in bytes: what waits in memory may be thousands. */
export const longestKept = 8 * 1024
/** Events whose payloads are kept: one event mostly goes to several subscribers. */
const most = 500

/** Of which event a delivery is. */
type EventOf = Pick<ClaimedDelivery, 'event' | 'nonce'>

/**
 * Reads payloads of events, and keeps the last small ones. They are kept by the events' nonces: numbers come again when the
 * database was taken back to an earlier state, and then stand for other events. For the same reason a payload that was read by
 * number is given out only where its nonce is that of the delivery.
 */
export class Payloads {
  readonly #store: Pick<DeliveryStore, 'readPayloads'>
  /** Events of older versions have no nonce: their payloads are read each time. */
  readonly #kept = new Map<number, EventPayload>()

  constructor(store: Pick<DeliveryStore, 'readPayloads'>) {
    this.#store = store
  }

  /** The small payloads of these deliveries' events. What is not found is to be asked for by `one`. */
  async small(deliveries: readonly EventOf[]): Promise<(delivery: EventOf) => EventPayload | undefined> {
    const kept = new Map<number | null, EventPayload>()
    const missing: EventOf[] = []
    for (const delivery of deliveries) {
      const payload = this.#find(delivery)
      if (payload) kept.set(delivery.nonce, payload)
      else missing.push(delivery)
    }
    const read = missing.length > 0 ? await this.#read(missing, longestKept) : undefined
    for (const payload of read?.values() ?? []) this.keep(payload)
    return (delivery) => kept.get(delivery.nonce) ?? matching(delivery, read?.get(delivery.event))
  }

  /** One of any size; `undefined` when it is no longer kept, and when the event of that number is another one by now. */
  async one(delivery: EventOf): Promise<EventPayload | undefined> {
    return this.#find(delivery) ?? matching(delivery, (await this.#read([delivery])).get(delivery.event))
  }

  keep(payload: EventPayload): void {
    if (payload.nonce === null || payload.payload.length > longestKept || this.#kept.has(payload.nonce))
      return
    this.#kept.set(payload.nonce, payload)
    if (this.#kept.size <= most) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest!)
  }

  forgetAll(): void {
    this.#kept.clear()
  }

  #find({ nonce }: Pick<EventOf, 'nonce'>): EventPayload | undefined {
    return nonce === null ? undefined : this.#kept.get(nonce)
  }

  #read(deliveries: readonly EventOf[], longest?: number): Promise<Map<number, EventPayload>> {
    return this.#store.readPayloads([...new Set(deliveries.map(({ event }) => event))], longest)
  }
}

function matching({ nonce }: EventOf, payload: EventPayload | undefined): EventPayload | undefined {
  return payload?.nonce === nonce ? payload : undefined
}
