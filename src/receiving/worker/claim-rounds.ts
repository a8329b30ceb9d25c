import type { Plan } from '../handlers/plan.ts'
import { advance, orderKeysOf } from '../queue/store.ts'
import type { ClaimedEvent, Kind, PendingKind, ClaimRequest } from '../queue/store.ts'
import { KindRotation, nameOf, perRound } from './due-kinds.ts'
import type { EventRunner } from './event-runner.ts'
import type { HandlerSlots } from './handler-slots.ts'
import { leaseMargin, pollInterval, gather, ownWork, pauseAfterError, unhandledWait } from './timing.ts'
import type { Database } from '../../storage/database.ts'
import type { EventQueueStatus } from '../../storage/tables.ts'
import type { Suspects } from './suspects.ts'
import type { WorkerContext } from './worker-parts.ts'
import type { Progress } from '../../runtime/worker.ts'

/** Events that one claim takes at most. */
const mostClaimed = 256
/** Events that one short transaction marks. */
const mostMarked = 1_000
/** Rounds in a row that take nothing, before the worker waits for the next wake-up. */
const mostIdleRounds = 100
/** Milliseconds between two signals to other processes while more is due than this process can run. */
const callEvery = 100

export interface ClaimRoundsParts extends WorkerContext {
  runner: EventRunner
  suspects: Suspects
  /** Where other processes run the same handlers. */
  slots: HandlerSlots | undefined
  progress: Progress
  /** Opens the session that holds the claims, if it is not open. */
  openSession: () => Promise<void>
}

/**
 * Claims due events in rounds, each of which continues with the next kinds of events, and hands them to the runner. A pass repeats rounds
 * until no more handlers can be started, and remembers whether due events are left.
 */
export class ClaimRounds {
  readonly #parts: ClaimRoundsParts
  readonly #rotation: KindRotation
  /**
   * `none`: the last pass left no due event; new ones come with a signal. `left`: due events may be left, for which a slot must become
   * free. `looking`: a pass looks for those that were left.
   */
  #due: 'none' | 'left' | 'looking' = 'left'
  #calledAt = -Infinity

  constructor(parts: ClaimRoundsParts) {
    this.#parts = parts
    this.#rotation = new KindRotation(parts.store)
  }

  /**
   * A round: claims events of the next kinds. Returns how many it claimed or, without a handler, marked, and whether another round may
   * take others.
   * @throws StorageUnavailable
   */
  async next(): Promise<{ taken: number; more: boolean }> {
    const now = this.#parts.clock.now()
    const kinds = await this.#rotation.next(now)
    const { marked, handled } = await this.#dueWithHandlers(kinds, now)
    const requests = this.#requestsFor(handled, now)
    const claimed = await this.#claim(requests, now)
    const taken = marked + sum(claimed.values())
    // There may be more kinds, or more events without a handler.
    const isUnfinished = kinds.length >= perRound || marked > 0
    // A kind of which fewer events were claimed than requested has no more due.
    const isMoreDue = requests.some((one) => claimed.get(nameOf(one)) === one.count)
    const isLeft = isUnfinished || requests.length < handled.length || isMoreDue
    if (isLeft) this.#due = 'left'
    this.#wakeForNext(kinds, now)
    const requested = new Set(requests.map(nameOf))
    this.#rotation.goOnBehind(kinds.findLast((kind) => requested.has(nameOf(kind))) ?? kinds.at(-1))
    return { taken, more: isUnfinished || (isLeft && taken > 0 && this.#roomFor(handled)) }
  }

  /** Sets a wake-up for the first kind that is due before the next poll. */
  #wakeForNext(kinds: readonly PendingKind[], now: number): void {
    const next = Math.min(...kinds.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now))
    if (next - now < pollInterval) this.#parts.wakeUps.in(next - now)
  }

  /** Returns the due kinds that have a handler, and marks the events of the others that have waited long enough. */
  async #dueWithHandlers(
    kinds: readonly PendingKind[],
    now: number,
  ): Promise<{ marked: number; handled: PendingKind[] }> {
    const { database, planOf, pauses, slots, log, progress } = this.#parts
    const unhandled: Unhandled[] = []
    const handled: PendingKind[] = []
    for (const kind of kinds) {
      if (kind.dueAt > now) continue
      const plan = planOf(kind.source, kind.type)
      if (pauses.isPaused(plan)) continue
      slots?.request(plan)
      if (plan.handlers.length > 0) handled.push(kind)
      else if (kind.dueAt <= now - unhandledWait) {
        unhandled.push(await markUnhandled(database, kind, now))
        progress.made()
      }
    }
    const changed = unhandled.filter(({ unhandled, failed }) => unhandled + failed > 0)
    if (changed.length > 0) log.warn({ unhandled: changed }, 'due events without a handler were marked')
    return { marked: sum(changed.map(({ unhandled, failed }) => unhandled + failed)), handled }
  }

  /** Divides the events that may be claimed among the kinds, and reserves them in their groups until the claim has ended. */
  #requestsFor(due: readonly PendingKind[], now: number): ClaimRequest[] {
    const { planOf, groups, runner, suspects } = this.#parts
    const wanted: ClaimRequest[] = []
    const share = Math.max(1, Math.floor(runner.free / Math.max(1, due.length)))
    const ahead = Math.max(1, Math.floor(mostClaimed / Math.max(1, due.length)))
    let left = mostClaimed
    let { free } = runner
    for (const kind of this.#rotation.beginRound(due)) {
      const { source, type } = kind
      const plan = planOf(source, type)
      if (suspects.excludes(plan)) continue
      const isQuick = groups.isQuick(plan)
      const count = Math.min(
        groups.claimable(plan, runner.isScarce),
        isQuick ? ahead : Math.min(share, free),
        left,
      )
      if (count <= 0) continue
      // For the other kinds of its group, and for groups with the same bound.
      groups.reserve(plan, count)
      this.#rotation.claimed(kind)
      left -= count
      if (!isQuick) free -= count
      wanted.push({ source, type, count, until: now + plan.timeout + leaseMargin })
    }
    return wanted
  }

  #roomFor(due: readonly Kind[]): boolean {
    const { planOf, groups, runner, suspects } = this.#parts
    const plans = due.map(({ source, type }) => planOf(source, type))
    return plans.some((plan) => !suspects.excludes(plan) && groups.claimable(plan, runner.isScarce) > 0)
  }

  /** Claims events and hands them to the runner. Returns their number by kind. */
  async #claim(wanted: readonly ClaimRequest[], now: number): Promise<Map<string, number>> {
    const { claims, store, runner } = this.#parts
    if (wanted.length === 0) return new Map()
    let claim: string | undefined
    const { voided } = claims
    let claimed: ClaimedEvent[]
    try {
      claim = store.newClaim()
      claimed = await store.claim(wanted, claim, now)
    } catch (error) {
      if (claim !== undefined) claims.unanswered({ claim, kinds: wanted, dueBy: now })
      throw error
    } finally {
      this.#endReservations(wanted)
    }
    if (voided !== claims.voided) {
      claims.unanswered({ claim, kinds: wanted, dueBy: now })
      return new Map()
    }
    runner.enqueue(claimed, now)
    const counts = new Map<string, number>()
    for (const one of claimed) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1)
    return counts
  }

  #endReservations(wanted: readonly ClaimRequest[]): void {
    const { planOf, groups } = this.#parts
    for (const { source, type, count } of wanted) groups.reserve(planOf(source, type), -count)
  }

  /** Whether the last pass left no due event, and no signal of a new one has come since. */
  get isCaughtUp(): boolean {
    return this.#due === 'none'
  }

  /** Wakes the worker if due events are left for a slot that was freed. New events wake it by a signal. */
  slotFreed(plan: Plan): void {
    const { groups, suspects, wakeUps } = this.#parts
    if (suspects.isWaiting) return wakeUps.now()
    if (this.#due !== 'left') return
    if (groups.wantsMore(plan)) wakeUps.now()
    else wakeUps.in(gather)
  }

  /** A pass. Does not reject. */
  async run(): Promise<void> {
    const { log, progress, runner, suspects, wakeUps } = this.#parts
    if (this.#due === 'left') this.#due = 'looking'
    try {
      await this.#prepare()
      await suspects.next()
      await this.#claimAll()
      if (runner.free <= 0) this.#due = 'left'
      if (this.#due === 'left') this.#callOthers()
      else this.#due = 'none'
      progress.made()
      wakeUps.in(pollInterval)
    } catch (error) {
      this.#due = 'left'
      log.warn({ err: error }, 'received events could not be claimed')
      wakeUps.in(pauseAfterError)
    }
  }

  async #prepare(): Promise<void> {
    const { claims, groups, openSession, restored, runner, store } = this.#parts
    await openSession()
    // Also without a free slot, and so without a round.
    await claims.settle()
    await restored.releaseUnknown(store, () => [...runner.processing(), ...groups.allClaimed()])
    await this.#releasePaused()
  }

  async #claimAll(): Promise<void> {
    const { claims, mayContinue, progress, runner } = this.#parts
    for (let idle = 0; runner.free > 0 && mayContinue();) {
      await claims.settle()
      const { taken, more } = await this.next()
      progress.made()
      idle = taken > 0 ? 0 : idle + 1
      if (!more || idle >= mostIdleRounds) break
      // A pass over a backlog is long, and a handler may be paused meanwhile.
      await this.#releasePaused()
    }
  }

  /** Releases the queued events of handlers that have been paused. Running ones are left to end. */
  async #releasePaused(): Promise<void> {
    const { claims, groups, pauses } = this.#parts
    await pauses.refresh()
    claims.releaseSoon(groups.withdraw((plan) => pauses.isPaused(plan)))
  }

  /** Wakes other processes, which may have free slots. */
  #callOthers(): void {
    const { clock, database } = this.#parts
    const now = clock.now()
    if (Math.abs(now - this.#calledAt) < callEvery) return
    this.#calledAt = now
    database.signalOthers('event_queue')
  }
}

/** The events of a kind that were marked, by their new status. */
interface Unhandled extends Kind {
  readonly unhandled: number
  readonly failed: number
}

/**
 * Marks events of a kind without a handler that have been due for `unhandledWait`, up to 1,000 of them: those that failed before as
 * `failed`, so that they can be run again, the others as processed without an attempt, which is `unhandled`.
 */
async function markUnhandled(database: Database, { source, type }: Kind, now: number): Promise<Unhandled> {
  return database.transaction(async (tx) => {
    const marked = await tx
      .updateTable('event_queue')
      .set((eb) => {
        // One that was given all attempts again has no `failed_at`.
        const hasNotFailed = eb.and([eb('failed_at', 'is', null), eb('attempts_before', '=', 0)])
        const ifUnhandled = eb.case().when(hasNotFailed)
        return {
          status: ifUnhandled.then<EventQueueStatus>('processed').else<EventQueueStatus>('failed').end(),
          processed_at: ifUnhandled.then(now).else(null).end(),
          failed_at: ifUnhandled
            .then(null)
            .else(eb.fn.coalesce('failed_at', eb.val(now)))
            .end(),
          // An attempt that a crash cut off left nothing behind.
          attempts: ifUnhandled.then(0).else(eb.ref('attempts')).end(),
          claim: null,
          leased_until: null,
        }
      })
      .where('event', 'in', (eb) =>
        eb
          .selectFrom('event_queue')
          .select('event')
          .where('status', '=', 'pending')
          .where('source', '=', source)
          .where('type', '=', type)
          .where('due_at', '<=', now - unhandledWait)
          .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
          .orderBy('due_at')
          .limit(mostMarked),
      )
      .where('status', '=', 'pending')
      .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
      .returning(['status', 'order_key as orderKey'])
      .execute()
    await advance(database.engine, tx, orderKeysOf(marked))
    const failed = marked.filter(({ status }) => status === 'failed').length
    return { source, type, unhandled: marked.length - failed, failed }
  }, ownWork)
}

function sum(counts: Iterable<number>): number {
  let all = 0
  for (const count of counts) all += count
  return all
}
