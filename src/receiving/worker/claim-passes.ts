import type { Clock } from '../../runtime/clock.ts'
import type { Progress } from '../../runtime/progress.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import type { ClaimReleases } from './claim-releases.ts'
import type { ClaimRounds } from './claim-rounds.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import type { EventRunner } from './event-runner.ts'
import type { RestoredClaims } from './restored-claims.ts'
import { gather, pauseAfterError, pollInterval } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from './wake-ups.ts'

/** Rounds in a row that start nothing, before the worker waits for the next wake-up. */
const mostIdleRounds = 100
/** Milliseconds between two signals to other processes while more is due than this process can run. */
const callEvery = 100

interface ClaimPassesParts {
  clock: Clock
  database: Database
  groups: ConcurrencyGroups
  log: Log
  pauses: Pauses
  progress: Progress
  restored: RestoredClaims
  returns: ClaimReleases
  rounds: ClaimRounds
  runner: EventRunner
  store: EventQueue
  unsettled: Unsettled
  wakeUps: WakeUps
  /** Opens the session that holds the claims, if it is not open. */
  openSession: () => Promise<void>
  /** Whether more events may be claimed: false once the worker stops. */
  mayContinue: () => boolean
}

/** A pass repeats rounds of claims until no more handlers can be started, and remembers whether due events are left. */
export class ClaimPasses {
  readonly #parts: ClaimPassesParts
  /** Whether the last pass has ended, and has left no due event. */
  #isCaughtUp = false
  /** Whether the last pass left due events, or events may be due without a signal. */
  #moreDue = true
  #calledAt = -Infinity

  constructor(parts: ClaimPassesParts) {
    this.#parts = parts
  }

  get isCaughtUp(): boolean {
    return this.#isCaughtUp
  }

  /** Notes that due events are left. */
  leftDue(): void {
    this.#moreDue = true
    this.#isCaughtUp = false
  }

  /** Wakes the worker if due events are left for a slot that was freed. New events wake it by a signal. */
  slotFreed(plan: Plan): void {
    if (!this.#moreDue) return
    const { groups, wakeUps } = this.#parts
    if (groups.wantsMore(plan)) wakeUps.now()
    else wakeUps.in(gather)
  }

  /** Does not reject. */
  async run(): Promise<void> {
    const { log, progress, runner, wakeUps } = this.#parts
    this.#moreDue = false
    try {
      await this.#prepare()
      await this.#claimAll()
      if (runner.free <= 0) this.#moreDue = true
      this.#isCaughtUp = !this.#moreDue
      if (this.#moreDue) this.#callOthers()
      progress.made()
      wakeUps.in(pollInterval)
    } catch (error) {
      this.leftDue()
      log.warn({ err: error }, 'received events could not be claimed')
      wakeUps.in(pauseAfterError)
    }
  }

  async #prepare(): Promise<void> {
    const { groups, openSession, restored, runner, store, unsettled } = this.#parts
    await openSession()
    // Without a free slot there is no round, which would do it.
    await unsettled.settle()
    await restored.releaseUnknown(store, () => [...runner.processing(), ...groups.allClaimed()])
    await this.#returnPaused()
  }

  async #claimAll(): Promise<void> {
    const { mayContinue, progress, rounds, runner, unsettled } = this.#parts
    for (let idle = 0; runner.free > 0 && mayContinue();) {
      await unsettled.settle()
      const { begun, more } = await rounds.next()
      progress.made()
      idle = begun > 0 ? 0 : idle + 1
      if (!more || idle >= mostIdleRounds) break
      // A pass over a backlog is long, and a handler may be paused meanwhile.
      await this.#returnPaused()
    }
  }

  /** Returns the queued events of handlers that have been paused. Running ones are left to end. */
  async #returnPaused(): Promise<void> {
    const { clock, groups, pauses, returns } = this.#parts
    await pauses.refresh()
    const paused = groups.withdrawHeld((plan) => pauses.holds(plan))
    returns.releaseSoon(paused, clock.now())
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
