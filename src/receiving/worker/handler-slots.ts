import { Period } from '../../runtime/clock.ts'
import type { EventRunner } from './event-runner.ts'
import type { WorkerContext } from './worker-parts.ts'
import type { Bound, Plan } from '../handlers/plan.ts'
import type { ShareSlots, SlotRequest, SlotsShared } from '../queue/store.ts'

/** Milliseconds for which a share is valid without a renewal. */
const validFor = 5_000
/** Milliseconds that slots are held beyond that and the handler's time limit, because clocks differ. */
const margin = 5_000
/** Milliseconds to the next request for slots of a handler. */
const nextRequest = { usual: 200, afterFailure: 1_000 }
/** Milliseconds for which a need for more slots is remembered: a process without a slot looks for work every second. */
const needLasts = 2_500

/** The slots of one handler that this process may use, and when it needs more. */
interface SlotShare {
  /** The most that all processes may use together. */
  readonly limit: number
  /** The longest that events of this handler may take, in milliseconds. */
  timeout: number
  /** The slots that may be used while `valid`. */
  share: number
  readonly valid: Period
  /** While a need for more slots is remembered. */
  readonly needed: Period
  /** Between a request and the next one. */
  readonly pause: Period
}

/** Milliseconds between two renewals of what is held. */
const renewEvery = 1_000

/**
 * A process's share of a handler's declared concurrency, which applies to all processes together. It requests slots when there is work
 * for the handler, renews them every second while it uses them, releases those that it did not use, and shares evenly with
 * processes that wait for slots. Slots end with the process's claims.
 *
 * The database never takes slots away: a process first stops using them, and says so with its next request. So a late or lost
 * answer does no harm.
 */
export class HandlerSlots {
  readonly #share: ShareSlots
  readonly #parts: WorkerContext & { readonly runner: EventRunner }
  readonly #shares = new Map<string, SlotShare>()
  /** Bounds of the next request, which waits for the answer to the last one. */
  readonly #due = new Set<string>()
  #requesting: Promise<void> | undefined
  /** Increases when the slots are lost: earlier answers are void. */
  #generation = 0
  #cancelTimer: (() => void) | undefined
  #stopped = false

  constructor(share: ShareSlots, parts: WorkerContext & { readonly runner: EventRunner }) {
    this.#share = share
    this.#parts = parts
  }

  /** How many events of a bound this process may run now. */
  allowed({ key }: Pick<Bound, 'key'>): number {
    const slots = this.#shares.get(key)
    return slots ? allowedBy(slots, this.#parts.clock.now()) : 0
  }

  /** Requests slots for due events where none is free. Queued events start when there are some. */
  request({ bounds, timeout }: Plan): void {
    if (bounds.length === 0 || this.#stopped) return
    const now = this.#parts.clock.now()
    for (const bound of bounds) {
      const slots = this.#slotsOf(bound)
      slots.timeout = Math.max(slots.timeout, timeout)
      const allowed = this.allowed(bound)
      if (allowed >= bound.limit || allowed > this.#parts.groups.running(bound.key)) continue
      slots.needed.start(now, needLasts)
      if (!slots.pause.has(now)) this.#due.add(bound.key)
    }
    this.#requestDue()
    this.#renewLater()
  }

  /** Call it when the claims of this process, and its slots with them, are lost. */
  forget(): void {
    this.#generation += 1
    this.#shares.clear()
    this.#due.clear()
  }

  /** Releases the slots that are not in use. The others are released with the claims. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#due.clear()
    await this.#requesting
    for (const slots of this.#shares.values()) {
      slots.share = 0
      slots.needed.end()
    }
    if (this.#shares.size > 0) await this.#request([...this.#shares.keys()])
  }

  #slotsOf({ key, limit }: Bound): SlotShare {
    let slots = this.#shares.get(key)
    if (!slots) {
      slots = { limit, timeout: 0, share: 0, valid: new Period(), needed: new Period(), pause: new Period() }
      this.#shares.set(key, slots)
    }
    return slots
  }

  #renewLater(): void {
    if (this.#cancelTimer || this.#stopped || this.#shares.size === 0) return
    this.#cancelTimer = this.#parts.clock.after(renewEvery, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    while (this.#requesting) await this.#requesting
    this.#cancelTimer = undefined
    if (this.#stopped) return
    const { groups, clock } = this.#parts
    const now = clock.now()
    for (const [key, slots] of this.#shares) {
      const peak = groups.drainPeak(key)
      // Gives back slots that were not used, unless there was work for more than could start.
      if (!slots.needed.has(now) && !groups.waits(key)) slots.share = Math.min(slots.share, peak)
      this.#due.add(key)
    }
    this.#requestDue()
    this.#renewLater()
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
    const { clock, log } = this.#parts
    const now = clock.now()
    const asked = keys.flatMap((key): SlotRequest[] => {
      const slots = this.#shares.get(key)
      if (!slots) return []
      slots.pause.start(now, nextRequest.usual)
      const until = now + validFor + slots.timeout + margin
      return [{ key, ...this.#needs(key, slots, now), limit: slots.limit, until }]
    })
    const generation = this.#generation
    try {
      const shared = await this.#share(asked, now)
      if (generation === this.#generation) this.#applyShares(shared, now)
    } catch (error) {
      log.warn({ err: error }, 'the concurrency slots of handlers could not be shared between processes')
      for (const key of keys) this.#shares.get(key)?.pause.start(now, nextRequest.afterFailure)
    }
  }

  #needs(key: string, slots: SlotShare, now: number): Pick<SlotRequest, 'keeps' | 'wants'> {
    const { groups } = this.#parts
    const keeps = Math.max(groups.running(key), allowedBy(slots, now))
    if (slots.needed.has(now)) return { keeps, wants: slots.limit }
    return { keeps, wants: groups.waits(key) ? Math.max(1, keeps) : keeps }
  }

  #applyShares(shared: readonly SlotsShared[], askedAt: number): void {
    const { claims, clock, database, groups } = this.#parts
    const now = clock.now()
    let more = false
    for (const { key, held, share } of shared) {
      const slots = this.#shares.get(key)
      if (!slots) continue
      const before = allowedBy(slots, now)
      slots.share = this.#stopped ? 0 : Math.min(held, share)
      slots.valid.start(askedAt, validFor)
      const allowed = allowedBy(slots, now)
      more ||= allowed > before
      if (groups.waits(key)) {
        // Other processes may start them.
        if (allowed === 0 && groups.running(key) === 0) claims.releaseSoon(groups.withdrawWaiting(key))
      } else if (held === 0 && !slots.needed.has(now)) this.#shares.delete(key)
    }
    if (shared.some(({ freed }) => freed)) database.signal('event_queue')
    if (more) this.#startMore()
  }

  #startMore(): void {
    const { groups, runner, wakeUps } = this.#parts
    for (const plan of groups.allWaiting()) runner.startQueued(plan)
    wakeUps.now()
  }
}

function allowedBy({ valid, share }: SlotShare, now: number): number {
  return valid.has(now) ? share : 0
}
