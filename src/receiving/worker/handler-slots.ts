import type { Clock } from '../../runtime/clock.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import type { Bound, Plan } from '../handlers/plan.ts'
import type { SlotRequest, SlotsShared, SlotStore } from '../queue/slot-store.ts'

export interface HandlerSlotsParts {
  store: SlotStore
  clock: Clock
  groups: ConcurrencyGroups
  /** Called when more events may start than before. */
  onMore: () => void
  /** Called when events of this bound wait here and none may start. */
  onNone: (key: string) => void
  /** Called when other processes may start more events than before. */
  onFreed: () => void
  onError: (error: unknown) => void
}

interface Slots {
  readonly limit: number
  /** The longest that events of this handler may take, in milliseconds. */
  timeout: number
  share: number
  /** Until when the share may be used. */
  validUntil: number
  /** When there was last work for more. */
  requestedAt: number
  nextRequestAt: number
}

/** Milliseconds between two renewals of what is held. */
const renewEvery = 1_000
/** Milliseconds for which a share is valid without a renewal. */
const validFor = 5_000
/** Milliseconds that slots are held beyond that and the handler's time limit, because clocks differ. */
const margin = 5_000
/** Milliseconds between two requests for slots of a handler, and after a request that failed. */
const requestInterval = 200
const retryDelay = 1_000
/** Milliseconds for which a need for more slots is remembered: a process without a slot looks for work every second. */
const needLasts = 2_500

/**
 * A process's share of a handler's declared concurrency, which holds for all processes together. It requests slots when there is work
 * for the handler, renews them every second while it uses them, gives back those that it did not use, and shares evenly with
 * processes that wait for slots. Slots end with the process's claims.
 *
 * The database never takes slots away: a process first stops using them, and says so with its next request. So a late or lost
 * answer does no harm.
 */
export class HandlerSlots {
  readonly #parts: HandlerSlotsParts
  readonly #handlers = new Map<string, Slots>()
  /** Bounds of the next request, which waits for the answer to the last one. */
  readonly #due = new Set<string>()
  #requesting: Promise<void> | undefined
  /** Increases when the slots are lost: earlier answers are void. */
  #generation = 0
  #cancelTimer: (() => void) | undefined
  #stopped = false

  constructor(parts: HandlerSlotsParts) {
    this.#parts = parts
  }

  /** How many events of a bound this process may run now. */
  allowed({ key }: Pick<Bound, 'key'>): number {
    const slots = this.#handlers.get(key)
    return slots && this.#parts.clock.now() <= slots.validUntil ? slots.share : 0
  }

  /** Requests slots for due events where none is free. `onMore` is called when there are some. */
  request({ bounds, timeout }: Plan): void {
    if (bounds.length === 0 || this.#stopped) return
    const now = this.#parts.clock.now()
    for (const bound of bounds) {
      const slots = this.#slotsOf(bound)
      slots.timeout = Math.max(slots.timeout, timeout)
      const allowed = this.allowed(bound)
      if (allowed >= bound.limit || allowed > this.#parts.groups.running(bound.key)) continue
      slots.requestedAt = now
      if (now >= slots.nextRequestAt) this.#due.add(bound.key)
    }
    this.#requestDue()
    this.#renewLater()
  }

  /** Call it when the claims of this process, and its slots with them, are lost. */
  forget(): void {
    this.#generation += 1
    this.#handlers.clear()
    this.#due.clear()
  }

  /** Releases the slots that are not in use. The others are released with the claims. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#due.clear()
    await this.#requesting
    for (const slots of this.#handlers.values()) {
      slots.share = 0
      slots.requestedAt = -Infinity
    }
    if (this.#handlers.size > 0) await this.#request([...this.#handlers.keys()])
  }

  #slotsOf({ key, limit }: Bound): Slots {
    let slots = this.#handlers.get(key)
    if (!slots) {
      const none = { share: 0, validUntil: -Infinity, requestedAt: -Infinity, nextRequestAt: -Infinity }
      this.#handlers.set(key, (slots = { limit, timeout: 0, ...none }))
    }
    return slots
  }

  #renewLater(): void {
    if (this.#cancelTimer || this.#stopped || this.#handlers.size === 0) return
    this.#cancelTimer = this.#parts.clock.after(renewEvery, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    while (this.#requesting) await this.#requesting
    this.#cancelTimer = undefined
    if (this.#stopped) return
    const { groups } = this.#parts
    for (const [key, slots] of this.#handlers) {
      const peak = groups.drainPeak(key)
      // Gives back slots that were not used, unless there was work for more than could start.
      if (!this.#needsMore(slots) && !groups.waits(key)) slots.share = Math.min(slots.share, peak)
      this.#due.add(key)
    }
    this.#requestDue()
    this.#renewLater()
  }

  #needsMore({ requestedAt }: Slots): boolean {
    return this.#parts.clock.now() - requestedAt <= needLasts
  }

  #requestDue(): void {
    if (this.#requesting || this.#due.size === 0) return
    const keys = [...this.#due]
    this.#due.clear()
    this.#requesting = this.#request(keys).finally(() => {
      this.#requesting = undefined
      if (!this.#stopped) this.#requestDue()
    })
  }

  /** Does not reject. */
  async #request(keys: readonly string[]): Promise<void> {
    const { store, clock, onError } = this.#parts
    const now = clock.now()
    const asked = keys.flatMap((key): SlotRequest[] => {
      const slots = this.#handlers.get(key)
      if (!slots) return []
      const { limit, timeout } = slots
      slots.nextRequestAt = now + requestInterval
      return [{ key, limit, ...this.#needs(key, slots), until: now + validFor + timeout + margin }]
    })
    const generation = this.#generation
    try {
      const shared = await store.share(asked, now)
      if (generation === this.#generation) this.#applyShares(shared, now)
    } catch (error) {
      onError(error)
      for (const key of keys) {
        const slots = this.#handlers.get(key)
        if (slots) slots.nextRequestAt = now + retryDelay
      }
    }
  }

  #needs(key: string, slots: Slots): Pick<SlotRequest, 'keeps' | 'wants'> {
    const { groups } = this.#parts
    const keeps = Math.max(groups.running(key), this.allowed({ key }))
    if (this.#needsMore(slots)) return { keeps, wants: slots.limit }
    return { keeps, wants: groups.waits(key) ? Math.max(1, keeps) : keeps }
  }

  #applyShares(shared: readonly SlotsShared[], askedAt: number): void {
    const { groups, onMore, onNone, onFreed } = this.#parts
    let more = false
    for (const { key, held, share } of shared) {
      const slots = this.#handlers.get(key)
      if (!slots) continue
      const before = this.allowed({ key })
      slots.share = this.#stopped ? 0 : Math.min(held, share)
      slots.validUntil = askedAt + validFor
      const allowed = this.allowed({ key })
      more ||= allowed > before
      if (groups.waits(key)) {
        if (allowed === 0 && groups.running(key) === 0) onNone(key)
      } else if (held === 0 && !this.#needsMore(slots)) this.#handlers.delete(key)
    }
    if (shared.some(({ freed }) => freed)) onFreed()
    if (more) onMore()
  }
}
