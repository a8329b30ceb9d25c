import type { Bound, Plan } from './plan.ts'
import type { ClaimedEvent } from './store.ts'

/** A claimed event that waits for a place in its group. */
export interface Queued {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** Its commit is to be shared with nobody: the one that it shared has failed. */
  readonly alone?: boolean
}

interface Group {
  running: number
  /** Events at a time that it deserves: one after a transaction that ran out of time, doubled by each success. */
  window: number
  /** Short transactions in a row. */
  short: number
  /** Quick handlers in a row, and such as hardly take any time. */
  quick: number
  instant: number
  /** Of a payload, as those were that were claimed of late. */
  bytes: number
  readonly queue: Queued[]
}

const fullWindow = 1024
/** Milliseconds. */
const shortTransaction = 100
const quickHandler = 200
const instantHandler = 50
/** So many in a row, and a group is expected to go on so. */
const expectedFrom = 4
/**
 * Events that a group of quick handlers may have claimed beyond those under way: what it does in a moment, and long enough
 * for the next claim to come back meanwhile, if it hardly takes any time for each.
 */
const ahead = { quick: 128, instant: 512 }
/** Bytes of payloads that they are to have together, by what those of late had. */
const mostBytesAhead = 16 * 1024 * 1024

/** Counts what is under way, so that no group takes what the others need, and keeps what is claimed and not begun. */
export class ConcurrencyGroups {
  readonly #groups = new Map<string, Group>()
  readonly #bounds = new Map<string, { running: number; peak: number }>()
  readonly #allowed: (bound: Bound) => number

  /** @param allowed how many of a bound may be under way in this process; by default all of them */
  constructor(allowed: (bound: Bound) => number = ({ limit }) => limit) {
    this.#allowed = allowed
  }

  /**
   * How many more events of a plan may be begun now.
   * @param scarce whether little is left for all together: then only a group with nothing under way gets one
   */
  room(plan: Plan, scarce: boolean): number {
    const { group, bounds } = plan
    const { running, window } = this.#groups.get(group.key) ?? { running: 0, window: fullWindow }
    return Math.min(
      Math.min(scarce ? 1 : this.#limitOf(plan), window) - running,
      ...bounds.map((bound) => this.#allowed(bound) - this.running(bound.key)),
    )
  }

  /** How many more events of a plan may be claimed now: those that find a place, and some ahead of a quick handler. */
  claimable(plan: Plan, scarce: boolean): number {
    if (plan.bounds.some((bound) => this.#allowed(bound) === 0)) return 0
    const queued = this.#groups.get(plan.group.key)?.queue.length ?? 0
    return Math.max(this.room(plan, scarce), this.#ahead(plan)) - queued
  }

  /** Whether its handlers have been quick lately, so that events may be claimed ahead of them. */
  isQuick({ group }: Plan): boolean {
    return (this.#groups.get(group.key)?.quick ?? 0) >= expectedFrom
  }

  /** Whether its transactions have been short lately, so that they may share a commit with others. */
  isShort({ group }: Plan): boolean {
    const found = this.#groups.get(group.key)
    return !found || (found.window === fullWindow && found.short >= expectedFrom)
  }

  /** Whether so little is left to begin that a claim is worth its commit. */
  wantsMore(plan: Plan): boolean {
    const found = this.#groups.get(plan.group.key)
    if (!found) return true
    if (found.queue.length > 0) return found.queue.length * 2 <= this.#ahead(plan)
    return found.running * 2 <= this.#limitOf(plan)
  }

  queue(queued: Queued): void {
    const group = this.#of(queued.plan)
    group.queue.push(queued)
    group.bytes += (queued.claimed.payload.length - group.bytes) / 16
  }

  /** Before all others: its turn had come already. */
  queueAgain(queued: Queued): void {
    this.#of(queued.plan).queue.unshift(queued)
  }

  /** The next event to begin, if the group has a place for it; the place is taken. */
  next(plan: Plan, scarce: boolean): Queued | undefined {
    const { queue } = this.#of(plan)
    if (queue.length === 0 || this.room(plan, scarce) <= 0) return undefined
    const queued = queue.shift()!
    this.#count(queued.plan, 1)
    return queued
  }

  /** The plans that have something waiting, that of one group last. */
  *waiting({ group }: Plan): Generator<Plan> {
    for (const [key, { queue }] of this.#groups) if (key !== group.key && queue[0]) yield queue[0].plan
    const [own] = this.#groups.get(group.key)?.queue ?? []
    if (own) yield own.plan
  }

  /** The plans that have something waiting. */
  *allWaiting(): Generator<Plan> {
    for (const { queue } of this.#groups.values()) if (queue[0]) yield queue[0].plan
  }

  /** All that waits. */
  allClaimed(): ClaimedEvent[] {
    return [...this.#groups.values()].flatMap(({ queue }) => queue.map(({ claimed }) => claimed))
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
    return [...this.#groups.values()].flatMap(takeAll)
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
    const group = this.#of(plan)
    if (group.window < fullWindow) group.window *= 2
    group.short = transaction <= shortTransaction ? group.short + 1 : 0
    group.quick = lasted <= quickHandler ? group.quick + 1 : 0
    group.instant = lasted <= instantHandler ? group.instant + 1 : 0
    return group.quick === 0 ? takeAll(group) : []
  }

  /** The same for a handler that failed: how long it would have taken is not known. */
  failed(plan: Plan): ClaimedEvent[] {
    const group = this.#of(plan)
    group.quick = 0
    group.instant = 0
    return takeAll(group)
  }

  /** A transaction was so long that others could not wait for it. */
  heldUpOthers(plan: Plan): void {
    this.#of(plan).short = 0
  }

  /** It had kept the others from writing: one at a time from now on. */
  shrinkWindow(plan: Plan): void {
    this.#of(plan).window = 1
  }

  #isInstant({ group }: Plan): boolean {
    return (this.#groups.get(group.key)?.instant ?? 0) >= expectedFrom
  }

  #limitOf(plan: Plan): number {
    return this.#isInstant(plan) ? plan.group.instantLimit : plan.group.limit
  }

  /** Events that may be claimed before they have a place. */
  #ahead(plan: Plan): number {
    if (!this.isQuick(plan)) return 0
    const bytes = this.#groups.get(plan.group.key)?.bytes ?? 0
    return Math.min(this.#isInstant(plan) ? ahead.instant : ahead.quick, Math.ceil(mostBytesAhead / bytes))
  }

  #of({ group }: Plan): Group {
    let found = this.#groups.get(group.key)
    if (!found)
      this.#groups.set(
        group.key,
        (found = {
          running: 0,
          window: fullWindow,
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

  *#waitingFor(key: string): Generator<Group> {
    for (const group of this.#groups.values())
      if (group.queue.some(({ plan }) => plan.bounds.some((bound) => bound.key === key))) yield group
  }
}

function takeAll({ queue }: Group): ClaimedEvent[] {
  return queue.splice(0).map(({ claimed }) => claimed)
}
