import type { Clock, Scheduler } from '../../runtime/clock.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import type { InsertClaim } from '../queue/insert-claims.ts'
import type { ClaimedEvent, EventQueue } from '../queue/store.ts'
import type { ClaimReleases } from './claim-releases.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import type { EventRunner } from './event-runner.ts'
import { leaseMargin } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from './wake-ups.ts'

/** Milliseconds that an insert may take: if it takes longer, too little of the leases is left, and its events are given back. */
const mostTime = 1_000

export interface InsertClaimsParts {
  store: Pick<EventQueue, 'newClaim'>
  clock: Pick<Clock, 'now'>
  planOf: PlanOf
  pauses: Pick<Pauses, 'holds' | 'isFresh'>
  groups: ConcurrencyGroups
  runner: Pick<EventRunner, 'isScarce' | 'begin'>
  returns: Pick<ClaimReleases, 'releaseSoon'>
  unsettled: Pick<Unsettled, 'claimLost'>
  wakeUps: Pick<WakeUps, 'now'>
  scheduler: Pick<Scheduler, 'soon'>
  /** Whether the worker has claimed all that was due, and would claim new events at once. */
  isIdle: () => boolean
}

/**
 * Claims received events by the statement that inserts them, while this process is not behind: no due event waits, and the
 * handlers have been quick lately. Otherwise the events wait for a round, which is fair to all kinds and to other processes.
 * Events with an order key, and those of handlers with a declared concurrency, always wait for a round.
 */
export class InsertClaims {
  readonly #parts: InsertClaimsParts
  readonly #inFlight = new InFlight()
  /** Increases when the claims of this process may be void: those in flight are then not used. */
  #generation = 0

  constructor(parts: InsertClaimsParts) {
    this.#parts = parts
  }

  /** Called when other processes may have taken over the claims, or the database may have forgotten them. */
  forget(): void {
    this.#generation += 1
  }

  /** Whether an insert with a claim is in flight. */
  get any(): boolean {
    return this.#inFlight.count > 0
  }

  /** Resolves when no insert with a claim is in flight. */
  ended(): Promise<void> {
    return this.#inFlight.drained()
  }

  /** Chooses the events of an insert that this process claims. */
  choose(events: readonly IncomingEvent[]): InsertClaim | undefined {
    const { clock, groups, planOf, isIdle } = this.#parts
    if (!isIdle()) return undefined
    const now = clock.now()
    const chosen = new Map<IncomingEvent, Plan>()
    /** How many events of each group may still be claimed. */
    const room = new Map<string, number>()
    for (const event of events) {
      if (event.status !== 'pending' || event.orderKey !== null || event.dueAt > now) continue
      const plan = planOf(event.source, event.type)
      if (!this.#mayClaim(plan)) continue
      const { key } = plan.group
      const left = room.get(key) ?? groups.claimable(plan, false)
      if (left > 0) chosen.set(event, plan)
      room.set(key, left - 1)
    }
    if (chosen.size === 0) return undefined
    const claim = this.#newClaim()
    return claim === undefined ? undefined : this.#begin(claim, chosen, now)
  }

  #mayClaim(plan: Plan): boolean {
    const { pauses, groups, runner } = this.#parts
    return plan.bounds.length === 0 && groups.isQuick(plan) && !runner.isScarce && !pauses.holds(plan)
  }

  #newClaim(): string | undefined {
    try {
      return this.#parts.store.newClaim()
    } catch (error) {
      if (error instanceof StorageUnavailable) return undefined
      throw error
    }
  }

  #begin(claim: string, chosen: ReadonlyMap<IncomingEvent, Plan>, now: number): InsertClaim {
    const { groups, scheduler, unsettled, wakeUps } = this.#parts
    const generation = this.#generation
    const { promise, resolve } = Promise.withResolvers<void>()
    void this.#inFlight.add(promise)
    for (const plan of chosen.values()) groups.reserve(plan, 1)
    const end = (): void => {
      for (const plan of chosen.values()) groups.reserve(plan, -1)
      resolve()
    }
    return {
      claim,
      until: new Map([...chosen].map(([event, { timeout }]) => [event, now + timeout + leaseMargin])),
      stored: (claimed) =>
        // In the next turn: the webhooks are acknowledged first.
        scheduler.soon(() => {
          end()
          this.#start(claimed, generation, now)
        }),
      failed() {
        end()
        unsettled.claimLost({ claim, events: [...chosen.keys()] })
        wakeUps.now()
      },
    }
  }

  /** Starts the events of a claim, or releases them if it may be void, or if the handlers were paused meanwhile. */
  #start(claimed: readonly ClaimedEvent[], generation: number, claimedAt: number): void {
    const { clock, planOf, pauses, returns, runner } = this.#parts
    const now = clock.now()
    const isVoid = generation !== this.#generation || Math.abs(now - claimedAt) > mostTime
    const isPaused = !pauses.isFresh || claimed.some(({ source, type }) => pauses.holds(planOf(source, type)))
    if (isVoid || isPaused) returns.releaseSoon(claimed, now)
    else runner.begin(claimed, claimedAt)
  }
}
