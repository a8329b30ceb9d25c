import type { InFlight } from '../../runtime/in-flight.ts'
import type { Database } from '../../storage/database.ts'
import { SharedCommitFailed } from '../../storage/sharing/transaction-driver.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { attempt, type AttemptParts, type AttemptTrace } from './attempt.ts'
import type { ClaimReleases } from './claim-releases.ts'
import type { ConcurrencyGroups, Queued } from './concurrency-groups.ts'
import { recordFailure, type FailureParts } from './failures.ts'
import { extendLease } from './held-events.ts'
import {
  ClaimLost,
  HeldUpOthers,
  Stopping,
  TransactionTimeout,
  WaitedForTransaction,
} from './interruptions.ts'
import type { RestoredClaims } from './restored-claims.ts'
import { gather, leaseMargin, mostRunning, pauseAfterError } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from './wake-ups.ts'

/** From this number of running handlers on, each concurrency group runs only one at a time. */
const scarceFrom = 96
/**
 * Attempts beyond the schedule that may end without a record, because their process ended. Further attempts fail without running the
 * handlers.
 */
const mostCrashes = 10
/** Errors that the handler did not cause: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

export interface EventRunnerParts extends AttemptParts, FailureParts {
  database: Database
  metrics: Metrics
  /** Called for each run of a handler without an error, with its milliseconds. */
  onHandled?: ((handler: string, duration: number) => void) | undefined
  /** Called for each recorded failure of a handler. */
  onFailed?: ((handler: string) => void) | undefined
}

interface RunnerState {
  planOf: PlanOf
  groups: ConcurrencyGroups
  inFlight: InFlight
  restored: RestoredClaims
  returns: ClaimReleases
  unsettled: Unsettled
  wakeUps: WakeUps
  /** Called when an event of the plan has freed its slot, and queued events have taken what they may. */
  onFree: (plan: Plan) => void
}

/** Runs the handlers of queued events, commits their work, and records their outcomes. */
export class EventRunner {
  readonly #parts: EventRunnerParts & RunnerState
  readonly #attempts
  /** Handlers that have not ended. */
  #running = 0
  /** Events that are being processed, until the end of their commit. */
  readonly #processing = new Set<Queued>()
  #stopped = false

  constructor(parts: EventRunnerParts & RunnerState) {
    this.#parts = parts
    this.#attempts = parts.metrics.counter(
      'postern_handler_attempts_total',
      'Attempts to process a received event by outcome: processed, retry, failed, lost, given-back',
      ['outcome'],
    )
  }

  /** Handlers that may be started now. */
  get free(): number {
    return mostRunning - this.#running
  }

  /** Whether few slots are free. */
  get isScarce(): boolean {
    return this.#running >= scarceFrom
  }

  /** The events that are being processed. */
  processing(): ClaimedEvent[] {
    return [...this.#processing].map(({ claimed }) => claimed)
  }

  /** Starts no more events. Running ones are left to end. */
  stop(): void {
    this.#stopped = true
  }

  /**
   * Queues claimed events, and starts those that may start. Events whose handlers have been running since before a restore of the
   * database are due again after a pause.
   */
  begin(claimed: readonly ClaimedEvent[]): void {
    const { clock, groups, planOf, restored, returns } = this.#parts
    const { running, others } = restored.divide(claimed)
    returns.releaseSoon(running, clock.now() + pauseAfterError)
    const plans = new Set<Plan>()
    for (const one of others) {
      const plan = planOf(one.source, one.type)
      groups.queue({ claimed: one, plan })
      plans.add(plan)
    }
    for (const plan of plans) this.startQueued(plan)
  }

  /** Starts queued events of a group while slots are free. */
  startQueued(plan: Plan): void {
    while (this.free > 0 && !this.#stopped) {
      const next = this.#parts.groups.next(plan, this.isScarce)
      if (!next) return
      this.#start(next)
    }
  }

  #start(queued: Queued): void {
    this.#running += 1
    this.#processing.add(queued)
    let isFree = false
    const freeSlot = (): void => {
      if (isFree) return
      isFree = true
      this.#freeSlot(queued.plan)
    }
    void this.#parts.inFlight.add(this.#run(queued, freeSlot))
  }

  #freeSlot(plan: Plan): void {
    const { groups, onFree } = this.#parts
    this.#running -= 1
    groups.end(plan)
    for (const waiting of groups.waiting(plan)) this.startQueued(waiting)
    onFree(plan)
  }

  /** Processes an event, including its commit, and counts the outcome. Never rejects. */
  async #run(queued: Queued, freeSlot: () => void): Promise<void> {
    const { log, metrics, restored } = this.#parts
    const { claimed } = queued
    const began = performance.now()
    try {
      const outcome = await this.#process(queued, freeSlot)
      if (outcome !== undefined) this.#attempts.inc({ outcome })
      if (outcome === 'processed' || outcome === 'retry' || outcome === 'failed')
        metrics.durations.handlers.observe(performance.now() - began)
    } catch (error) {
      log.error({ err: error, event: claimed.event }, 'a received event could not be processed')
    } finally {
      this.#processing.delete(queued)
      restored.ended(claimed)
      freeSlot()
    }
  }

  /**
   * Returns the outcome; undefined if the event was queued again, or if its outcome could not be recorded yet.
   * @param freeSlot called as soon as the handlers have ended: the commit needs no slot.
   */
  async #process(queued: Queued, freeSlot: () => void): Promise<string | undefined> {
    const { clock, groups, onHandled, schedule } = this.#parts
    const { claimed, plan } = queued
    const startedAt = clock.now()
    const trace: AttemptTrace = { onEnd: onHandled }
    try {
      if (claimed.attempts - claimed.attemptsBefore > schedule.length + mostCrashes)
        throw new Error('the process ended during too many attempts to handle this event')
      if (queued.alone) await this.#extendLease(queued)
      await this.#attemptOnceOrTwice(queued, trace, freeSlot)
      return 'processed'
    } catch (error) {
      if (!(error instanceof SharedCommitFailed)) return this.#afterFailure(queued, trace, error, startedAt)
      if (this.#stopped) return this.#afterFailure(queued, trace, new Stopping(), startedAt)
      // Its slot was freed when its handlers ended, so it waits for another one.
      groups.queueAgain({ ...queued, alone: true })
      this.startQueued(plan)
      return undefined
    }
  }

  /** Attempts an event; if its transaction delayed others, attempts it again in a transaction of its own. */
  async #attemptOnceOrTwice(
    { claimed, plan, alone }: Queued,
    trace: AttemptTrace,
    freeSlot: () => void,
  ): Promise<void> {
    const { groups } = this.#parts
    try {
      await this.#attempt(claimed, plan, { alone: alone ?? !groups.isShort(plan), trace }, freeSlot)
    } catch (error) {
      if (!(error instanceof HeldUpOthers)) throw error
      groups.heldUpOthers(plan)
      await this.#extendLease({ claimed, plan })
      await this.#attempt(claimed, plan, { alone: true, trace }, freeSlot)
    }
  }

  #extendLease({ claimed, plan }: Queued): Promise<void> {
    const { clock, database } = this.#parts
    return extendLease(database, claimed, clock.now() + plan.timeout + leaseMargin)
  }

  async #attempt(
    claimed: ClaimedEvent,
    plan: Plan,
    { alone, trace }: { alone: boolean; trace: AttemptTrace },
    freeSlot: () => void,
  ): Promise<void> {
    const { clock, database, groups, returns } = this.#parts
    const startedAt = clock.now()
    const { committed, emitted, took } = await attempt(claimed, plan, alone, this.#parts, trace)
    const unbegun = groups.succeeded(plan, clock.now() - startedAt, took)
    returns.releaseSoon(unbegun, clock.now())
    freeSlot()
    await committed
    if (emitted) database.signal('deliveries')
    this.#wakeForOrderKey(claimed)
  }

  async #afterFailure(
    { claimed, plan }: Queued,
    trace: AttemptTrace,
    error: unknown,
    startedAt: number,
  ): Promise<string | undefined> {
    const { clock, groups, log, returns, unsettled, wakeUps } = this.#parts
    const { event, source, type } = claimed
    const now = clock.now()
    returns.releaseSoon(groups.failed(plan), now)
    if (error instanceof ClaimLost) return 'lost'
    if (notItsOwn.some((kind) => error instanceof kind)) {
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler had to wait')
      await returns.release([claimed], error instanceof Stopping ? now : now + pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) groups.ranOutOfTime(plan)
    const handler = trace.handler ?? plan.handlers[0]?.id ?? ''
    const record = (): Promise<string> => this.#recordFailure(claimed, { error, startedAt, now, handler })
    try {
      return await record()
    } catch (cause) {
      log.warn({ err: cause, event }, 'a failed attempt could not be recorded; it will be')
      unsettled.toRecord(
        async () => this.#attempts.inc({ outcome: await record() }),
        now + plan.timeout + leaseMargin,
      )
      wakeUps.in(gather)
      return undefined
    }
  }

  async #recordFailure(
    claimed: ClaimedEvent,
    failure: { error: unknown; startedAt: number; now: number; handler: string },
  ): Promise<string> {
    const { log, onFailed, wakeUps } = this.#parts
    const { event, source, type, attempts } = claimed
    const outcome = await recordFailure(this.#parts, { claimed, ...failure })
    if (outcome !== 'lost') onFailed?.(failure.handler)
    log.warn({ err: failure.error, event, source, type, attempt: attempts, outcome }, 'a handler failed')
    // It may be due again immediately.
    wakeUps.in(gather)
    this.#wakeForOrderKey(claimed)
    return outcome
  }

  /** Events with the same order key may be due now. */
  #wakeForOrderKey({ orderKey }: ClaimedEvent): void {
    if (orderKey !== null) this.#parts.wakeUps.now()
  }
}
