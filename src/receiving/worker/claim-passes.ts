import type { Progress } from '../../runtime/progress.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import type { ClaimReleases, RestoredClaims } from './claim-releases.ts'
import type { ClaimRounds } from './claim-rounds.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import type { EventRunner } from './event-runner.ts'
import { gather, pauseAfterError, pollInterval } from './timing.ts'
import type { Suspects } from './suspects.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from '../../runtime/repeated-pass.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Rounds in a row that take nothing, before the worker waits for the next wake-up. */
const mostIdleRounds = 100
/** Milliseconds between two signals to other processes while more is due than this process can run. */
const callEvery = 100

interface ClaimPassesParts extends Pick<ModuleParts, 'clock' | 'database' | 'log'> {
  groups: ConcurrencyGroups
  pauses: Pauses
  progress: Progress
  restored: RestoredClaims
  releases: ClaimReleases
  rounds: ClaimRounds
  runner: EventRunner
  store: EventQueue
  suspects: Suspects
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
  /**
   * `none`: the last pass left no due event; new ones come with a signal. `left`: due events may be left, for which a slot must become
   * free. `looking`: a pass looks for those that were left.
   */
  #due: 'none' | 'left' | 'looking' = 'left'
  #calledAt = -Infinity

  constructor(parts: ClaimPassesParts) {
    this.#parts = parts
  }

  /** Whether the last pass left no due event, and nothing since then tells of one. */
  get isCaughtUp(): boolean {
    return this.#due === 'none'
  }

  get #hasLeft(): boolean {
    return this.#due === 'left'
  }

  /** Notes that due events are left. */
  leftDue(): void {
    this.#due = 'left'
  }

  /** Wakes the worker if due events are left for a slot that was freed. New events wake it by a signal. */
  slotFreed(plan: Plan): void {
    const { groups, suspects, wakeUps } = this.#parts
    if (suspects.isWaiting) return wakeUps.now()
    if (!this.#hasLeft) return
    if (groups.wantsMore(plan)) wakeUps.now()
    else wakeUps.in(gather)
  }

  /** Does not reject. */
  async run(): Promise<void> {
    const { log, progress, runner, suspects, wakeUps } = this.#parts
    if (this.#hasLeft) this.#due = 'looking'
    try {
      await this.#prepare()
      await suspects.next()
      await this.#claimAll()
      if (runner.free <= 0) this.leftDue()
      if (this.#hasLeft) this.#callOthers()
      else this.#due = 'none'
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
    // Also without a free slot, and so without a round.
    await unsettled.settle()
    await restored.releaseUnknown(store, () => [...runner.processing(), ...groups.allClaimed()])
    await this.#releasePaused()
  }

  async #claimAll(): Promise<void> {
    const { mayContinue, progress, rounds, runner, unsettled } = this.#parts
    for (let idle = 0; runner.free > 0 && mayContinue();) {
      await unsettled.settle()
      const { taken, more } = await rounds.next()
      progress.made()
      idle = taken > 0 ? 0 : idle + 1
      if (!more || idle >= mostIdleRounds) break
      // A pass over a backlog is long, and a handler may be paused meanwhile.
      await this.#releasePaused()
    }
  }

  /** Releases the queued events of handlers that have been paused. Running ones are left to end. */
  async #releasePaused(): Promise<void> {
    const { groups, pauses, releases } = this.#parts
    await pauses.refresh()
    const paused = groups.withdrawPaused((plan) => pauses.isPaused(plan))
    releases.releaseSoon(paused)
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
