import { InFlight } from '../../runtime/worker.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent, IncomingEvent, InsertClaim } from '../queue/store.ts'
import type { EventRunner } from './event-runner.ts'
import { leaseMargin } from './timing.ts'
import type { Suspects } from './suspects.ts'
import type { WorkerContext } from './worker-parts.ts'

/** Milliseconds that an insert may take: if it takes longer, too little of the leases is left, and its events are given back. */
const mostTime = 1_000

export interface InsertClaimsParts extends WorkerContext {
  runner: EventRunner
  suspects: Suspects
  scheduler: NonNullable<WorkerContext['scheduler']>
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

  constructor(parts: InsertClaimsParts) {
    this.#parts = parts
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
    return claim === undefined ? undefined : this.#inFlightClaim(claim, chosen, now)
  }

  #mayClaim(plan: Plan): boolean {
    const { pauses, groups, runner, suspects } = this.#parts
    if (plan.bounds.length > 0 || suspects.excludes(plan)) return false
    return groups.isQuick(plan) && !runner.isScarce && !pauses.isPaused(plan)
  }

  #newClaim(): string | undefined {
    try {
      return this.#parts.store.newClaim()
    } catch (error) {
      if (error instanceof StorageUnavailable) return undefined
      throw error
    }
  }

  #inFlightClaim(claim: string, chosen: ReadonlyMap<IncomingEvent, Plan>, now: number): InsertClaim {
    const { claims, groups, scheduler, wakeUps } = this.#parts
    const { voided } = claims
    const { promise, resolve } = Promise.withResolvers<void>()
    void this.#inFlight.add(promise)
    for (const plan of chosen.values()) groups.reserve(plan, 1)
    const settle = (): void => {
      for (const plan of chosen.values()) groups.reserve(plan, -1)
      resolve()
    }
    return {
      claim,
      until: new Map([...chosen].map(([event, { timeout }]) => [event, now + timeout + leaseMargin])),
      stored: (claimed) =>
        // In the next turn: the webhooks are acknowledged first.
        scheduler.soon(() => {
          settle()
          this.#start(claimed, voided, now)
        }),
      failed() {
        settle()
        claims.unanswered({ claim, events: [...chosen.keys()] })
        wakeUps.now()
      },
    }
  }

  /** Starts the events of a claim, or releases them if it may be void, or if the handlers were paused meanwhile. */
  #start(claimed: readonly ClaimedEvent[], voided: number, claimedAt: number): void {
    const { claims, clock, planOf, pauses, runner } = this.#parts
    const now = clock.now()
    const isVoid = voided !== claims.voided || Math.abs(now - claimedAt) > mostTime
    const isPaused =
      !pauses.isFresh || claimed.some(({ source, type }) => pauses.isPaused(planOf(source, type)))
    if (isVoid || isPaused) claims.releaseSoon(claimed)
    else runner.enqueue(claimed, claimedAt)
  }
}
