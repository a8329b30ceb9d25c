import type { Claimed, DeliveryQueue, Payload } from './store.ts'

/** Longer ones are read when they are sent, in bytes: what waits in memory may be thousands. */
export const longestKept = 8 * 1024
/** Events whose payloads are kept: one event mostly goes to several subscribers. */
const most = 500

/** Of which event a delivery is. */
type EventOf = Pick<Claimed, 'event' | 'nonce'>

/**
 * Reads payloads of events, and keeps the last small ones. They are kept by the events' nonces: numbers come again when the
 * database was taken back to an earlier state, and then stand for other events. For the same reason a payload that was read by
 * number is given out only where its nonce is that of the delivery.
 */
export class Payloads {
  readonly #queue: Pick<DeliveryQueue, 'payloads'>
  /** Events of older versions have no nonce: their payloads are read each time. */
  readonly #kept = new Map<number, Payload>()

  constructor(queue: Pick<DeliveryQueue, 'payloads'>) {
    this.#queue = queue
  }

  /** The small payloads of these deliveries' events. What is not found is to be asked for by `one`. */
  async small(deliveries: readonly EventOf[]): Promise<(delivery: EventOf) => Payload | undefined> {
    const kept = new Map<number | null, Payload>()
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
  async one(delivery: EventOf): Promise<Payload | undefined> {
    return this.#find(delivery) ?? matching(delivery, (await this.#read([delivery])).get(delivery.event))
  }

  keep(payload: Payload): void {
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

  #find({ nonce }: Pick<EventOf, 'nonce'>): Payload | undefined {
    return nonce === null ? undefined : this.#kept.get(nonce)
  }

  #read(deliveries: readonly EventOf[], longest?: number): Promise<Map<number, Payload>> {
    return this.#queue.payloads([...new Set(deliveries.map(({ event }) => event))], longest)
  }
}

function matching({ nonce }: EventOf, payload: Payload | undefined): Payload | undefined {
  return payload?.nonce === nonce ? payload : undefined
}
