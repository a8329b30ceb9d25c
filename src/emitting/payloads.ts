import type { DeliveryQueue, Payload } from './store.ts'

/** Longer ones are read when they are sent, in bytes: what waits in memory may be thousands. */
export const longestKept = 8 * 1024
/** Events whose payloads are kept: one event mostly goes to several subscribers. */
const most = 500

/** Reads payloads of events, and keeps the last small ones. */
export class Payloads {
  readonly #queue: Pick<DeliveryQueue, 'payloads'>
  readonly #kept = new Map<number, Payload>()

  constructor(queue: Pick<DeliveryQueue, 'payloads'>) {
    this.#queue = queue
  }

  /** Those that are small, by their places in the log. */
  async small(events: Iterable<number>): Promise<Map<number, Payload>> {
    const found = new Map<number, Payload>()
    const missing: number[] = []
    for (const event of new Set(events)) {
      const payload = this.#kept.get(event)
      if (payload) found.set(event, payload)
      else missing.push(event)
    }
    for (const [event, payload] of missing.length > 0
      ? await this.#queue.payloads(missing, longestKept)
      : []) {
      found.set(event, payload)
      this.keep(event, payload)
    }
    return found
  }

  /** One of any size; `undefined` when it is no longer kept. */
  async one(event: number): Promise<Payload | undefined> {
    return this.#kept.get(event) ?? (await this.#queue.payloads([event])).get(event)
  }

  keep(event: number, payload: Payload): void {
    if (payload.payload.length > longestKept || this.#kept.has(event)) return
    this.#kept.set(event, payload)
    if (this.#kept.size <= most) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest!)
  }
}
