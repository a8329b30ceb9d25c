import { now } from '../now.ts'
import { idOf, textOf, type Item, type Tenant, type Work } from './item.ts'

/** The longest time from an acknowledgement, or from the end of a fault, to the effect. */
export interface Delay {
  ms: number
  id: string
}

/** What was sent, what was acknowledged and what came of it. */
export class Ledger {
  readonly items = new Map<string, Item>()
  /** Acknowledged, without an effect that was seen. */
  readonly outstanding = new Map<string, Item>()
  /** What a subscriber got that was not its own, or not what the id stands for. */
  readonly foreign: string[] = []
  readonly stalled = new Set<string>()
  /** Arrivals at a subscriber that had had the event. */
  again = 0
  longest: Delay = { ms: 0, id: '' }
  readonly #arrived = new Map<string, Set<string>>()
  readonly #subscribers = new Map<Tenant, number>()
  readonly stalledAfter: number
  #numbers = 0
  #disturbed = false
  #healedAt = 0

  /** @param stalledAfter milliseconds after which what has no effect counts as stalled, once nothing is broken any more */
  constructor(stalledAfter: number) {
    this.stalledAfter = stalledAfter
  }

  addSubscriber(tenant: Tenant): void {
    this.#subscribers.set(tenant, (this.#subscribers.get(tenant) ?? 0) + 1)
  }

  /** A new one, which nobody has acknowledged. */
  open(kind: Item['kind'], tenant: Tenant): Item {
    const number = (this.#numbers += 1)
    return this.#add(kind, kind === 'webhook' ? 'in' : 'out', tenant, number)
  }

  acknowledge(item: Item, work?: Work): void {
    if (item.acknowledgedAt !== undefined) return
    item.acknowledgedAt = now()
    if (item.doneAt === undefined) this.outstanding.set(item.id, item)
    // What the handler emits is committed with its work: it is as good as acknowledged.
    if (work?.follow) this.acknowledge(this.#add('event', 'follow', work.tenant, work.number))
  }

  /** The handler's row was seen. */
  handled(id: string): void {
    const item = this.items.get(id)
    if (item) this.#done(item)
  }

  /** A subscriber got an event. */
  arrived(subscriber: string, tenant: Tenant, id: string): void {
    const had = this.#arrived.getOrInsertComputed(id, () => new Set())
    if (had.has(subscriber)) this.again += 1
    had.add(subscriber)
    const item = this.items.get(id)
    if (item && had.size === this.#subscribers.get(tenant)) this.#done(item)
  }

  /** From now on delays are the fault's. */
  disturb(): void {
    this.#disturbed = true
  }

  /** Nothing is broken any more: what is outstanding must have its effect soon. */
  heal(): void {
    this.#disturbed = false
    this.#healedAt = now()
  }

  /** What was acknowledged between the two times is lost, and what was done since the first is undone, by the fault itself. */
  lose(from: number, to: number): void {
    for (const item of this.items.values()) {
      const { acknowledgedAt, doneAt } = item
      if (acknowledgedAt === undefined || acknowledgedAt > to) continue
      if (acknowledgedAt >= from) {
        item.inLostWindow = true
        this.outstanding.delete(item.id)
      } else if (item.kind === 'webhook' && doneAt !== undefined && doneAt >= from) {
        item.doneAt = undefined
        this.outstanding.set(item.id, item)
      }
    }
  }

  /** Counts what has waited too long since the last fault ended. */
  look(): void {
    if (this.#disturbed) return
    const at = now()
    for (const item of this.outstanding.values()) this.#measure(item, at)
  }

  #add(kind: Item['kind'], prefix: string, tenant: Tenant, number: number): Item {
    const id = idOf(prefix, { tenant, number })
    const existing = this.items.get(id)
    if (existing) return existing
    const item: Item = {
      id,
      kind,
      content: { tenant, number, text: textOf(id) },
      acknowledgedAt: undefined,
      doneAt: undefined,
      inLostWindow: false,
    }
    // The event of a handler may have come before the webhook was known to be acknowledged.
    if (this.#arrived.get(id)?.size === this.#subscribers.get(tenant)) item.doneAt = now()
    this.items.set(id, item)
    return item
  }

  #done(item: Item): void {
    if (item.doneAt !== undefined) return
    item.doneAt = now()
    this.outstanding.delete(item.id)
    if (!this.#disturbed) this.#measure(item, item.doneAt)
  }

  #measure({ id, acknowledgedAt }: Item, until: number): void {
    if (acknowledgedAt === undefined) return
    const ms = until - Math.max(acknowledgedAt, this.#healedAt)
    if (ms > this.longest.ms) this.longest = { ms, id }
    if (ms > this.stalledAfter) this.stalled.add(id)
  }
}
