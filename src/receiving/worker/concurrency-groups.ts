import type { Bound, Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { mostTimeAhead } from './timing.ts'

/** Milliseconds up to which handlers count as quick. */
const quickHandler = 200
/** Milliseconds up to which handlers count as instant. */
const instantHandler = 50
/** Milliseconds that a handler of which nothing is known counts as: after four instant runs it is instant. */
const unknownHandler = 400
/** Milliseconds up to which transactions may share a commit. */
const shortTransaction = 100
/** Milliseconds that a transaction counts as at most. One that ran out of time counts as more, so that it counts for longer. */
const [longTransaction, endlessTransaction] = [1_000, 16_000]

/** How long the handlers of a concurrency group and their transactions took lately. */
class HandlerPace {
  #duration = unknownHandler
  #transaction = 0

  /** Milliseconds that the handlers took lately. */
  get duration(): number {
    return this.#duration
  }

  get isQuick(): boolean {
    return this.#duration <= quickHandler
  }

  get isInstant(): boolean {
    return this.#duration <= instantHandler
  }

  /** Whether the transactions have been short, so that they may share a commit with others. */
  get hasShortTransactions(): boolean {
    return this.#transaction <= shortTransaction
  }

  /** Whether a transaction has blocked others for so long that one may run at a time. */
  get isExclusive(): boolean {
    return this.#transaction > longTransaction
  }

  /** Records a successful handler: `lasted` milliseconds, of which its transaction took `transaction`. */
  succeeded(lasted: number, transaction: number): void {
    this.#duration = average(this.#duration, lasted)
    this.#transaction = average(this.#transaction, Math.min(transaction, longTransaction))
  }

  /** Records a failed handler, whose duration tells nothing. */
  failed(): void {
    this.#duration = average(this.#duration, unknownHandler)
  }

  /** Records a transaction that delayed others. */
  heldUpOthers(): void {
    this.#transaction = average(this.#transaction, longTransaction)
  }

  /** Records a transaction that blocked other writers for too long. */
  ranOutOfTime(): void {
    this.#transaction = endlessTransaction
  }
}

/** Updates an average that rises at once and falls by half of the difference. */
function average(before: number, now: number): number {
  return now > before ? now : (before + now) / 2
}

/** A claimed event that waits for a slot of its concurrency group, or has one. */
export interface Queued {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** When its lease began, in milliseconds since 1970. */
  readonly claimedAt: number
  /** Whether it needs a transaction of its own, because a shared one has failed. */
  readonly alone?: boolean
}

/** The handlers that share slots: how many run, how fast they are, and the claimed events that wait for them. */
class ConcurrencyGroup {
  running = 0
  /** Events that are being claimed. */
  reserved = 0
  readonly pace = new HandlerPace()
  /** Moving average of the payloads that were claimed lately. */
  bytes = 0
  readonly queue: Queued[] = []

  get taken(): number {
    return this.queue.length + this.reserved
  }

  add(queued: Queued): void {
    this.queue.push(queued)
    this.bytes += (queued.claimed.payload.length - this.bytes) / 16
  }

  /** Whether an event of a bound is queued. */
  waitsFor(key: string): boolean {
    return this.queue.some(({ plan }) => plan.bounds.some((bound) => bound.key === key))
  }

  /** Removes and returns the queued events of the plans that `which` names. */
  withdraw(which: (plan: Plan) => boolean = () => true): ClaimedEvent[] {
    const withdrawn = this.queue.filter(({ plan }) => which(plan))
    if (withdrawn.length > 0)
      this.queue.splice(0, this.queue.length, ...this.queue.filter(({ plan }) => !which(plan)))
    return withdrawn.map(({ claimed }) => claimed)
  }
}

/** The handlers of a bound, over all groups. */
interface BoundUse {
  running: number
  /** The most that ran at once since the last call of `drainPeak`. */
  peak: number
  /** Those that have events of the bound. */
  readonly groups: Set<ConcurrencyGroup>
}

/**
 * Events that a group may claim beyond its running ones: work for a moment, and for instant handlers enough to last until the
 * next claim returns.
 */
const ahead = { quick: 128, instant: 512 }
/** Bytes of their payloads, estimated from the average. */
const mostBytesAhead = 16 * 1024 * 1024

const unknownPace = new HandlerPace()

/**
 * The concurrency groups of this process: their running handlers and their queued events. A group gets no slots that others need.
 *
 * Two limits hold for an event: that of its group in this process, and the bounds of its plan, which handlers declare and which
 * hold for all groups of a handler and all processes. `claimable` counts what may be claimed, `room` what may run.
 */
export class ConcurrencyGroups {
  readonly #groups = new Map<string, ConcurrencyGroup>()
  readonly #uses = new Map<string, BoundUse>()
  readonly #allowed: (bound: Bound) => number

  /** @param allowed how many handlers of a bound may run in this process; by default all of them */
  constructor(allowed: (bound: Bound) => number = ({ limit }) => limit) {
    this.#allowed = allowed
  }

  /**
   * How many more events of a plan may start now.
   * @param scarce whether few slots are free in total: then only a group without running handlers gets one
   */
  room(plan: Plan, scarce: boolean): number {
    const running = this.#groups.get(plan.group.key)?.running ?? 0
    return Math.min(
      (scarce || this.#paceOf(plan).isExclusive ? 1 : this.#limitOf(plan)) - running,
      ...plan.bounds.map((bound) => this.#allowed(bound) - this.running(bound.key)),
    )
  }

  /**
   * How many more events of a plan may be claimed now: one for each free slot, and more for quick handlers. What other groups have
   * claimed of the same bounds counts, because other processes may have slots for the rest. But a group gets an event while quick ones
   * have queued theirs, and so takes turns with them.
   */
  claimable(plan: Plan, scarce: boolean): number {
    if (plan.bounds.some((bound) => this.#allowed(bound) === 0)) return 0
    const group = this.#groups.get(plan.group.key)
    const { taken = 0, running = 0 } = group ?? {}
    const count = Math.min(
      Math.max(this.room(plan, scarce), this.#claimableAhead(plan)) - taken,
      ...plan.bounds.map((bound) => this.#leftOf(bound, plan) - taken),
    )
    const isNext = taken + running === 0 && this.#isQueuedByQuick(plan.bounds, group)
    return isNext ? Math.max(1, count) : count
  }

  /** Makes `count` fewer events claimable while they are being claimed; a negative count ends this. */
  reserve(plan: Plan, count: number): void {
    this.#of(plan).reserved += count
  }

  /** Whether its handlers have been quick lately, so that events may be claimed ahead of them. */
  isQuick(plan: Plan): boolean {
    return this.#paceOf(plan).isQuick
  }

  /** Whether its transactions have been short lately, so that they may share a commit with others. */
  isShort(plan: Plan): boolean {
    return this.#paceOf(plan).hasShortTransactions
  }

  /** Whether so few events are queued that another claim is worth its commit. */
  wantsMore(plan: Plan): boolean {
    const found = this.#groups.get(plan.group.key)
    if (!found) return true
    if (found.queue.length > 0) return found.queue.length * 2 <= this.#claimableAhead(plan)
    return found.running * 2 <= this.#limitOf(plan)
  }

  queue(queued: Queued): void {
    this.#of(queued.plan).add(queued)
  }

  /** Queues an event before all others, because it had its turn already. */
  queueAgain(queued: Queued): void {
    this.#of(queued.plan).queue.unshift(queued)
  }

  /** Takes the next event and a slot, if the group has both. */
  takeNext(plan: Plan, scarce: boolean): Queued | undefined {
    const { queue } = this.#of(plan)
    const [first] = queue
    // The plans of one group may have different bounds.
    if (!first || this.room(first.plan, scarce) <= 0) return undefined
    queue.shift()
    this.takeSlot(first.plan)
    return first
  }

  /** Takes a slot for an event that was not queued. */
  takeSlot(plan: Plan): void {
    this.#count(plan, 1)
  }

  /** The plans with queued events; the given group comes last. */
  *waiting({ group }: Plan): Generator<Plan> {
    for (const [key, { queue }] of this.#groups) if (key !== group.key && queue[0]) yield queue[0].plan
    const [own] = this.#groups.get(group.key)?.queue ?? []
    if (own) yield own.plan
  }

  /** The plans with queued events. */
  *allWaiting(): Generator<Plan> {
    for (const { queue } of this.#groups.values()) if (queue[0]) yield queue[0].plan
  }

  /** All queued events. */
  allClaimed(): ClaimedEvent[] {
    return [...this.#groups.values()].flatMap(({ queue }) => queue.map(({ claimed }) => claimed))
  }

  /** How many handlers of a bound are running. */
  running(key: string): number {
    return this.#uses.get(key)?.running ?? 0
  }

  /** The most handlers of a bound that ran at once since the last call. */
  drainPeak(key: string): number {
    const use = this.#uses.get(key)
    if (!use) return 0
    const { peak, running } = use
    use.peak = running
    return peak
  }

  /** Whether an event of a bound waits for a slot. */
  waits(key: string): boolean {
    return this.#groups.values().some((group) => group.waitsFor(key))
  }

  /** Removes and returns the queued events of the groups in which an event of a bound waits: others wait behind it. */
  withdrawWaiting(key: string): ClaimedEvent[] {
    return [...this.#groups.values()].flatMap((group) => (group.waitsFor(key) ? group.withdraw() : []))
  }

  /** Removes and returns the queued events of the plans that `which` names; without it, all. */
  withdraw(which?: (plan: Plan) => boolean): ClaimedEvent[] {
    return [...this.#groups.values()].flatMap((group) => group.withdraw(which))
  }

  /** Frees a slot. The group becomes the last one, so that groups that wait for the same bound take turns. */
  freeSlot(plan: Plan): void {
    this.#count(plan, -1)
    const group = this.#of(plan)
    this.#groups.delete(plan.group.key)
    this.#groups.set(plan.group.key, group)
  }

  /**
   * Records a successful handler: `lasted` milliseconds, of which its transaction took `transaction`. Returns queued events
   * that must not wait for handlers this slow.
   */
  succeeded(plan: Plan, lasted: number, transaction: number): ClaimedEvent[] {
    const group = this.#of(plan)
    group.pace.succeeded(lasted, transaction)
    return lasted > quickHandler ? group.withdraw() : []
  }

  /** Records a failed handler, after which the group does not count as quick. Returns its queued events, which must not wait for it. */
  failed(plan: Plan): ClaimedEvent[] {
    const group = this.#of(plan)
    group.pace.failed()
    return group.withdraw()
  }

  /** Records a transaction that delayed others: the group stops sharing for a while. */
  heldUpOthers(plan: Plan): void {
    this.#of(plan).pace.heldUpOthers()
  }

  /** Records a transaction that blocked other writers for too long: the group runs one event at a time for a while. */
  ranOutOfTime(plan: Plan): void {
    this.#of(plan).pace.ranOutOfTime()
  }

  #paceOf({ group }: Plan): HandlerPace {
    return this.#groups.get(group.key)?.pace ?? unknownPace
  }

  #limitOf(plan: Plan): number {
    return this.#paceOf(plan).isInstant ? plan.group.instantLimit : plan.group.limit
  }

  /** Events that may be claimed before a slot is free. */
  #claimableAhead(plan: Plan): number {
    const pace = this.#paceOf(plan)
    if (!pace.isQuick) return 0
    const bytes = this.#groups.get(plan.group.key)?.bytes ?? 0
    const atOnce = Math.min(this.#limitOf(plan), ...plan.bounds.map((bound) => this.#quickSlots(bound, plan)))
    return Math.min(
      pace.isInstant ? ahead.instant : ahead.quick,
      Math.ceil(mostBytesAhead / bytes),
      aheadOf(atOnce, pace),
    )
  }

  /** Events of a bound that the group of a plan may have claimed and not started. */
  #leftOf(bound: Bound, plan: Plan): number {
    const own = this.#groups.get(plan.group.key)
    const free = this.#allowed(bound) - this.running(bound.key)
    const pace = this.#paceOf(plan)
    const most = pace.isQuick ? Math.max(free, aheadOf(this.#quickSlots(bound, plan), pace)) : free
    return most - sumOf(this.#others(bound, own), ({ taken }) => taken)
  }

  /** The slots of a bound, without those that slower groups use. */
  #quickSlots(bound: Bound, plan: Plan): number {
    const slow = this.#others(bound, this.#groups.get(plan.group.key)).filter(({ pace }) => !pace.isQuick)
    return this.#allowed(bound) - sumOf(slow, ({ running, taken }) => running + taken)
  }

  /** Whether other groups with quick handlers have queued events of one of these bounds. */
  #isQueuedByQuick(bounds: readonly Bound[], own: ConcurrencyGroup | undefined): boolean {
    return bounds.some((bound) =>
      this.#others(bound, own).some(({ queue, pace }) => queue.length > 0 && pace.isQuick),
    )
  }

  /** The other groups that have events of a bound. */
  #others({ key }: Bound, own: ConcurrencyGroup | undefined): ConcurrencyGroup[] {
    return [...(this.#uses.get(key)?.groups ?? [])].filter((group) => group !== own)
  }

  #useOf({ key }: Bound): BoundUse {
    let use = this.#uses.get(key)
    if (!use) this.#uses.set(key, (use = { running: 0, peak: 0, groups: new Set() }))
    return use
  }

  #of({ group, bounds }: Plan): ConcurrencyGroup {
    let found = this.#groups.get(group.key)
    if (!found) this.#groups.set(group.key, (found = new ConcurrencyGroup()))
    // The plans of one group may have different bounds.
    for (const bound of bounds) this.#useOf(bound).groups.add(found)
    return found
  }

  #count(plan: Plan, count: number): void {
    this.#of(plan).running += count
    for (const bound of plan.bounds) {
      const use = this.#useOf(bound)
      use.running += count
      use.peak = Math.max(use.peak, use.running)
    }
  }
}

function sumOf(groups: readonly ConcurrencyGroup[], count: (group: ConcurrencyGroup) => number): number {
  return groups.reduce((sum, group) => sum + count(group), 0)
}

/** Events that so many slots are expected to start within `mostTimeAhead`. */
function aheadOf(slots: number, { duration }: HandlerPace): number {
  return Math.max(0, Math.ceil((slots * mostTimeAhead) / duration))
}
