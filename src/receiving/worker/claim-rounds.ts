import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { ClaimedEvent, EventQueue, Kind, PendingKind, ClaimRequest } from '../queue/store.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import { KindRotation, perRound } from './due-kinds.ts'
import type { EventRunner } from './event-runner.ts'
import type { HandlerSlots } from './handler-slots.ts'
import { leaseMargin, pollInterval } from './timing.ts'
import { markUnhandled, unhandledWait, type Unhandled } from './unhandled.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from './wake-ups.ts'

/** Events that one claim takes at most. */
const mostClaimed = 256

export interface ClaimRoundsParts {
  database: Database
  store: EventQueue
  clock: Clock
  planOf: PlanOf
  pauses: Pauses
  groups: ConcurrencyGroups
  /** Where other processes run the same handlers. */
  slots: HandlerSlots | undefined
  runner: EventRunner
  unsettled: Unsettled
  wakeUps: WakeUps
  log: Log
  onProgress: () => void
  /** Called when a round leaves due events. */
  onLeft: () => void
}

/** What a round has done. */
export interface Round {
  /** Events that were started, queued or, without a handler, marked. */
  readonly begun: number
  /** Whether another round may start others. */
  readonly more: boolean
}

/** Claims due events in rounds, each of which continues with the next kinds of events, and hands them to the runner. */
export class ClaimRounds {
  readonly #parts: ClaimRoundsParts
  readonly #rotation: KindRotation
  /** How often the session that holds the claims was lost, so that other processes could take them over. */
  #losses = 0

  constructor(parts: ClaimRoundsParts) {
    this.#parts = parts
    this.#rotation = new KindRotation(parts.store)
  }

  /** Called when the session that holds the claims was lost: a claim in flight is void. */
  sessionLost(): void {
    this.#losses += 1
  }

  /** Claims events of the next kinds. @throws StorageUnavailable */
  async next(): Promise<Round> {
    const { clock, wakeUps, onLeft } = this.#parts
    const now = clock.now()
    const kinds = await this.#rotation.next(now)
    const { marked, handled } = await this.#dueWithHandlers(kinds, now)
    const wanted = this.#requestsFor(handled, now)
    const counts = wanted.length === 0 ? undefined : await this.#claim(wanted, now)
    const begun = marked + (counts ? sum(counts.values()) : 0)
    const full = kinds.length >= perRound
    // A kind that returned fewer events than wanted has no more due.
    const left =
      full ||
      marked > 0 ||
      wanted.length < handled.length ||
      wanted.some((one) => counts!.get(nameOf(one)) === one.count)
    if (left) onLeft()
    const next = Math.min(...kinds.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now))
    if (next - now < pollInterval) wakeUps.in(next - now)
    const names = new Set(wanted.map(nameOf))
    this.#rotation.goOnBehind(kinds.findLast((kind) => names.has(nameOf(kind))) ?? kinds.at(-1))
    return { begun, more: full || marked > 0 || (left && begun > 0 && this.#roomFor(handled)) }
  }

  /** Returns the due kinds that have a handler, and marks the events of the others that have waited long enough. */
  async #dueWithHandlers(
    kinds: readonly PendingKind[],
    now: number,
  ): Promise<{ marked: number; handled: PendingKind[] }> {
    const { database, planOf, pauses, slots, log, onProgress } = this.#parts
    const unhandled: Unhandled[] = []
    const handled: PendingKind[] = []
    for (const kind of kinds) {
      if (kind.dueAt > now) continue
      const plan = planOf(kind.source, kind.type)
      if (pauses.holds(plan)) continue
      slots?.request(plan)
      if (plan.handlers.length > 0) handled.push(kind)
      else if (kind.dueAt <= now - unhandledWait) {
        unhandled.push(await markUnhandled(database, kind, now))
        onProgress()
      }
    }
    const changed = unhandled.filter(({ processed, failed }) => processed + failed > 0)
    if (changed.length > 0) log.warn({ unhandled: changed }, 'due events without a handler were marked')
    return { marked: sum(changed.map(({ processed, failed }) => processed + failed)), handled }
  }

  /** Divides the events that may be claimed among the kinds, and reserves them. */
  #requestsFor(due: readonly PendingKind[], now: number): ClaimRequest[] {
    const { planOf, groups, runner } = this.#parts
    const wanted: ClaimRequest[] = []
    const share = Math.max(1, Math.floor(runner.free / Math.max(1, due.length)))
    const ahead = Math.max(1, Math.floor(mostClaimed / Math.max(1, due.length)))
    let left = mostClaimed
    let { free } = runner
    for (const kind of this.#rotation.inTurn(due)) {
      const { source, type } = kind
      const plan = planOf(source, type)
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
    const { planOf, groups, runner } = this.#parts
    return due.some(({ source, type }) => groups.claimable(planOf(source, type), runner.isScarce) > 0)
  }

  /** Returns the number of claimed events of each kind. */
  async #claim(wanted: readonly ClaimRequest[], now: number): Promise<Map<string, number>> {
    const { store, runner, unsettled } = this.#parts
    let claim: string | undefined
    const losses = this.#losses
    let claimed: ClaimedEvent[]
    try {
      claim = store.newClaim()
      claimed = await store.claim(wanted, claim, now)
    } catch (error) {
      if (claim !== undefined) unsettled.claimLost({ claim, kinds: wanted, dueBy: now })
      throw error
    } finally {
      this.#endReservations(wanted)
    }
    if (losses !== this.#losses) {
      unsettled.claimLost({ claim, kinds: wanted, dueBy: now })
      return new Map()
    }
    runner.begin(claimed, now)
    const counts = new Map<string, number>()
    for (const one of claimed) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1)
    return counts
  }

  #endReservations(wanted: readonly ClaimRequest[]): void {
    const { planOf, groups } = this.#parts
    for (const { source, type, count } of wanted) groups.reserve(planOf(source, type), -count)
  }
}

const nameOf = ({ source, type }: Kind): string => `${source} ${type}`

function sum(counts: Iterable<number>): number {
  let all = 0
  for (const count of counts) all += count
  return all
}
