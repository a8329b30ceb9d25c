import type { Bound, Plan } from './plan.ts'
import type { ClaimedEvent } from './store.ts'

/** A claimed event that waits for a place in its lane. */
export interface Queued {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** Its commit is to be shared with nobody: the one that it shared has failed. */
  readonly alone?: boolean
}

interface Lane {
  running: number
  /** Events at a time that it deserves: one after a transaction that ran out of time, doubled by each success. */
  trust: number
  /** Short transactions in a row. */
  short: number
  /** Quick handlers in a row, and such as hardly take any time. */
  quick: number
  instant: number
  /** Of a payload, as those were that were claimed of late. */
  bytes: number
  readonly queue: Queued[]
}

const fullTrust = 1024
/** Milliseconds. */
const shortTransaction = 100
const quickHandler = 200
const instantHandler = 50
/** So many in a row, and a lane is expected to go on so. */
const expectedFrom = 4
/**
 * Events that a lane of quick handlers may have claimed beyond those under way: what it does in a moment, and long enough
 * for the next claim to come back meanwhile, if it hardly takes any time for each.
 */
const ahead = { quick: 128, instant: 512 }
/** Bytes of payloads that they are to have together, by what those of late had. */
const mostBytesAhead = 16 * 1024 * 1024

/** Counts what is under way, so that no lane takes what the others need, and keeps what is claimed and not begun. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #bounds = new Map<string, { running: number; peak: number }>()
  readonly #allowed: (bound: Bound) => number

  /** @param allowed how many of a bound may be under way in this process; by default all of them */
  constructor(allowed: (bound: Bound) => number = ({ limit }) => limit) {
    this.#allowed = allowed
  }

  /**
   * How many more events of a plan may be begun now.
   * @param scarce whether little is left for all together: then only a lane with nothing under way gets one
   */
  room(plan: Plan, scarce: boolean): number {
    const { lane, bounds } = plan
    const { running, trust } = this.#lanes.get(lane.key) ?? { running: 0, trust: fullTrust }
    return Math.min(
      Math.min(scarce ? 1 : this.#limitOf(plan), trust) - running,
      ...bounds.map((bound) => this.#allowed(bound) - this.running(bound.key)),
    )
  }

  /** How many more events of a plan may be claimed now: those that find a place, and some ahead of a quick handler. */
  claimable(plan: Plan, scarce: boolean): number {
    if (plan.bounds.some((bound) => this.#allowed(bound) === 0)) return 0
    const queued = this.#lanes.get(plan.lane.key)?.queue.length ?? 0
    return Math.max(this.room(plan, scarce), this.#ahead(plan)) - queued
  }

  /** Whether its handlers have been quick lately, so that events may be claimed ahead of them. */
  isQuick({ lane }: Plan): boolean {
    return (this.#lanes.get(lane.key)?.quick ?? 0) >= expectedFrom
  }

  /** Whether its transactions have been short lately, so that they may share a commit with others. */
  isShort({ lane }: Plan): boolean {
    const found = this.#lanes.get(lane.key)
    return !found || (found.trust === fullTrust && found.short >= expectedFrom)
  }

  /** Whether so little is left to begin that a claim is worth its commit. */
  wantsMore(plan: Plan): boolean {
    const found = this.#lanes.get(plan.lane.key)
    if (!found) return true
    if (found.queue.length > 0) return found.queue.length * 2 <= this.#ahead(plan)
    return found.running * 2 <= this.#limitOf(plan)
  }

  queue(queued: Queued): void {
    const lane = this.#of(queued.plan)
    lane.queue.push(queued)
    lane.bytes += (queued.claimed.payload.length - lane.bytes) / 16
  }

  /** Before all others: its turn had come already. */
  queueAgain(queued: Queued): void {
    this.#of(queued.plan).queue.unshift(queued)
  }

  /** The next event to begin, if the lane has a place for it; the place is taken. */
  next(plan: Plan, scarce: boolean): Queued | undefined {
    const { queue } = this.#of(plan)
    if (queue.length === 0 || this.room(plan, scarce) <= 0) return undefined
    const queued = queue.shift()!
    this.#count(queued.plan, 1)
    return queued
  }

  /** The plans that have something waiting, that of one lane last. */
  *waiting({ lane }: Plan): Generator<Plan> {
    for (const [key, { queue }] of this.#lanes) if (key !== lane.key && queue[0]) yield queue[0].plan
    const [own] = this.#lanes.get(lane.key)?.queue ?? []
    if (own) yield own.plan
  }

  /** The plans that have something waiting. */
  *allWaiting(): Generator<Plan> {
    for (const { queue } of this.#lanes.values()) if (queue[0]) yield queue[0].plan
  }

  /** All that waits. */
  allClaimed(): ClaimedEvent[] {
    return [...this.#lanes.values()].flatMap(({ queue }) => queue.map(({ claimed }) => claimed))
  }

  /** How many of a bound are under way. */
  running(key: string): number {
    return this.#bounds.get(key)?.running ?? 0
  }

  /** The most of a bound that were under way at once since the last call. */
  takePeak(key: string): number {
    const bound = this.#bounds.get(key)
    if (!bound) return 0
    const { peak, running } = bound
    bound.peak = running
    return peak
  }

  /** Whether something of a bound waits for a place. */
  waits(key: string): boolean {
    return this.#waitingFor(key).next().done !== true
  }

  /** Takes out all of a bound that waits. */
  withdraw(key: string): ClaimedEvent[] {
    return [...this.#waitingFor(key)].flatMap(takeAll)
  }

  /** Takes out all that waits. */
  clear(): ClaimedEvent[] {
    return [...this.#lanes.values()].flatMap(takeAll)
  }

  /** Gives a place back. */
  end(plan: Plan): void {
    this.#count(plan, -1)
  }

  /**
   * A handler has ended well after so many milliseconds, of which its transaction took some. Returns what is not to wait
   * for such handlers any more.
   */
  succeeded(plan: Plan, lasted: number, transaction: number): ClaimedEvent[] {
    const lane = this.#of(plan)
    if (lane.trust < fullTrust) lane.trust *= 2
    lane.short = transaction <= shortTransaction ? lane.short + 1 : 0
    lane.quick = lasted <= quickHandler ? lane.quick + 1 : 0
    lane.instant = lasted <= instantHandler ? lane.instant + 1 : 0
    return lane.quick === 0 ? takeAll(lane) : []
  }

  /** The same for a handler that failed: how long it would have taken is not known. */
  failed(plan: Plan): ClaimedEvent[] {
    const lane = this.#of(plan)
    lane.quick = 0
    lane.instant = 0
    return takeAll(lane)
  }

  /** A transaction was so long that others could not wait for it. */
  heldUpOthers(plan: Plan): void {
    this.#of(plan).short = 0
  }

  /** It had kept the others from writing: one at a time from now on. */
  distrust(plan: Plan): void {
    this.#of(plan).trust = 1
  }

  #isInstant({ lane }: Plan): boolean {
    return (this.#lanes.get(lane.key)?.instant ?? 0) >= expectedFrom
  }

  #limitOf(plan: Plan): number {
    return this.#isInstant(plan) ? plan.lane.instantLimit : plan.lane.limit
  }

  /** Events that may be claimed before they have a place. */
  #ahead(plan: Plan): number {
    if (!this.isQuick(plan)) return 0
    const bytes = this.#lanes.get(plan.lane.key)?.bytes ?? 0
    return Math.min(this.#isInstant(plan) ? ahead.instant : ahead.quick, Math.ceil(mostBytesAhead / bytes))
  }

  #of({ lane }: Plan): Lane {
    let found = this.#lanes.get(lane.key)
    if (!found)
      this.#lanes.set(
        lane.key,
        (found = {
          running: 0,
          trust: fullTrust,
          short: expectedFrom,
          quick: 0,
          instant: 0,
          bytes: 0,
          queue: [],
        }),
      )
    return found
  }

  #count(plan: Plan, count: number): void {
    this.#of(plan).running += count
    for (const { key } of plan.bounds) {
      let bound = this.#bounds.get(key)
      if (!bound) this.#bounds.set(key, (bound = { running: 0, peak: 0 }))
      bound.running += count
      bound.peak = Math.max(bound.peak, bound.running)
    }
  }

  *#waitingFor(key: string): Generator<Lane> {
    for (const lane of this.#lanes.values())
      if (lane.queue.some(({ plan }) => plan.bounds.some((bound) => bound.key === key))) yield lane
  }
}

function takeAll({ queue }: Lane): ClaimedEvent[] {
  return queue.splice(0).map(({ claimed }) => claimed)
}
