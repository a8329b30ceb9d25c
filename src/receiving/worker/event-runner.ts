import { SharedCommitFailed } from '../../storage/sharing/transaction-driver.ts'
import { begin, run, spans, type Work } from '../../telemetry/spans.ts'
import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { attempt, type AttemptTrace } from './attempt.ts'
import type { Queued } from './concurrency-groups.ts'
import { extendLease } from './claims.ts'
import {
  ClaimLost,
  HeldUpOthers,
  Stopping,
  TransactionTimeout,
  WaitedForTransaction,
} from './interruptions.ts'
import { gather, leaseMargin, mostTimeAhead, pauseAfterError } from './timing.ts'
import { mayRunAgain, StorageUnavailable } from '../../storage/unavailable.ts'
import { type Failure, recordFailure } from './failures.ts'
import type { WorkerContext } from './worker-parts.ts'

/** The most handlers that run at once in one process. */
const mostRunning = 192
/** From this number of running handlers on, each concurrency group runs only one at a time. */
const scarceFrom = 96
/** Errors that the handler did not cause: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

/**
 * Runs the handlers of claimed events and commits their work. A claimed event is
 * - queued, while it waits for a slot of its concurrency group;
 * - running, while its handlers run in a slot;
 * - committing, after they have ended: it uses no slot, and no abort reaches it;
 * - and then processed. If a transaction failed that it shared with others, it is queued again, to run alone.
 * After any other failure it is released, or the failure is recorded, unless another claim holds it. The claim fences
 * each of these writes, so an event whose lease has ended may be in any state here.
 */
export class EventRunner {
  readonly #parts: WorkerContext
  readonly #onFree: (plan: Plan) => void
  readonly #attempts
  readonly #observe
  /** Handlers that have not ended. */
  #running = 0
  /** Events that are running or committing. */
  readonly #processing = new Set<Queued>()
  /** Why the claims of this process were lost the last time. */
  #lost: Error | undefined

  /** @param onFree called when an event of the plan has freed its slot, and queued events have taken what they may */
  constructor(parts: WorkerContext, onFree: (plan: Plan) => void) {
    this.#parts = parts
    this.#onFree = onFree
    this.#attempts = parts.metrics.counter(
      'postern_handler_attempts_total',
      'Attempts to process a received event by outcome: processed, retry, failed, lost, given-back',
      ['outcome'],
    )
    this.#observe = parts.metrics.seconds(
      'postern_handler_attempt_seconds',
      'Duration of attempts of handlers, including the commit',
      'outcome',
      [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 60],
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

  /** Whether no event is running or committing. */
  get isIdle(): boolean {
    return this.#processing.size === 0
  }

  /** The events that are running or committing. */
  processing(): ClaimedEvent[] {
    return [...this.#processing].map(({ claimed }) => claimed)
  }

  /**
   * Aborts the running events, because other processes may take over their claims. A committing one that would have to run again is
   * released instead: until the claim is taken over, its lease could still be extended.
   */
  claimsLost(reason: Error): void {
    this.#lost = reason
    this.#parts.aborts.abortCurrent(reason)
  }

  /**
   * Queues claimed events, and starts those that may start. Events whose handlers have been running since before a restore of the
   * database are due again after a pause.
   * @param claimedAt when their leases began, in milliseconds since 1970
   */
  enqueue(claimed: readonly ClaimedEvent[], claimedAt: number): void {
    const { claims, groups, planOf, restored } = this.#parts
    const { running, others } = restored.divide(claimed)
    claims.releaseSoon(running, pauseAfterError)
    const plans = new Set<Plan>()
    for (const one of others) {
      const plan = planOf(one.source, one.type)
      groups.queue({ claimed: one, plan, claimedAt })
      plans.add(plan)
    }
    for (const plan of plans) this.startQueued(plan)
  }

  /** Starts an event of its own claim at once; its group must have room. @param onEnd called at its end */
  startAlone(queued: Queued, onEnd: () => void): void {
    const { claims, groups, restored } = this.#parts
    const { running } = restored.divide([queued.claimed])
    if (running.length > 0) {
      claims.releaseSoon(running, pauseAfterError)
      return onEnd()
    }
    groups.takeSlot(queued.plan)
    void this.#start(queued).finally(onEnd)
  }

  /** Starts queued events of a group while slots are free. */
  startQueued(plan: Plan): void {
    const { groups, mayContinue } = this.#parts
    while (this.free > 0 && mayContinue()) {
      const next = groups.takeNext(plan, this.isScarce)
      if (!next) return
      void this.#start(next)
    }
  }

  #start(queued: Queued): Promise<void> {
    this.#running += 1
    this.#processing.add(queued)
    let isFree = false
    const freeSlot = (): void => {
      if (isFree) return
      isFree = true
      this.#freeSlot(queued.plan)
    }
    return this.#parts.inFlight.add(this.#run(queued, freeSlot))
  }

  #freeSlot(plan: Plan): void {
    const { groups } = this.#parts
    this.#running -= 1
    groups.freeSlot(plan)
    for (const waiting of groups.waiting(plan)) this.startQueued(waiting)
    this.#onFree(plan)
  }

  /** Processes an event, including its commit, and counts the outcome. Never rejects. */
  async #run(queued: Queued, freeSlot: () => void): Promise<void> {
    const { log, metrics, onHandled, restored } = this.#parts
    const { claimed } = queued
    const began = performance.now()
    const trace: AttemptTrace = { onEnd: onHandled }
    try {
      const outcome = await this.#process(queued, trace, freeSlot)
      if (outcome !== undefined) this.#attempts.inc({ outcome })
      if (outcome === 'processed' || outcome === 'retry' || outcome === 'failed') {
        const took = performance.now() - began
        metrics.durations.handlers.observe(took)
        this.#observe(outcome, took, trace.traceparent)
      }
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
  async #process(queued: Queued, trace: AttemptTrace, freeSlot: () => void): Promise<string | undefined> {
    const { clock, groups, mayContinue } = this.#parts
    const { claimed, plan, claimedAt } = queued
    const startedAt = clock.now()
    const lostBefore = this.#lost
    try {
      // Otherwise the lease could end before the handlers: another claim would then run them at the same time.
      if (queued.alone || Math.abs(startedAt - claimedAt) > mostTimeAhead) await this.#extendLease(queued)
      await this.#attemptOnceOrTwice(queued, trace, freeSlot)
      return 'processed'
    } catch (error) {
      const handler = trace.handler ?? plan.handlers[0]?.id ?? ''
      const failed = (by: unknown): Promise<string | undefined> =>
        this.#afterFailure({ claimed, handler, startedAt, error: by, now: clock.now() }, plan)
      if (!(error instanceof SharedCommitFailed)) return failed(error)
      if (!mayContinue()) return failed(new Stopping())
      if (this.#lost !== lostBefore) return failed(this.#lost)
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

  /** Rejects also if the claims of this process are lost meanwhile: their loss aborts only handlers that run already. */
  async #extendLease({ claimed, plan }: Pick<Queued, 'claimed' | 'plan'>): Promise<void> {
    const { aborts, clock, database } = this.#parts
    let lost: Error | undefined
    const stopListening = aborts.onAbort((reason) => (lost = reason))
    try {
      await extendLease(database, claimed, clock.now() + plan.timeout + leaseMargin)
    } finally {
      stopListening()
    }
    if (lost) throw lost
  }

  async #attempt(
    claimed: ClaimedEvent,
    plan: Plan,
    { alone, trace }: { alone: boolean; trace: AttemptTrace },
    freeSlot: () => void,
  ): Promise<void> {
    const { claims, clock, groups, wakeUps } = this.#parts
    const startedAt = clock.now()
    const start = () => attempt(claimed, plan, alone, this.#parts, trace)
    const work = spans.handle.start.hasSubscribers
      ? begin('handle', claimed.headers, attributesOf(claimed))
      : undefined
    trace.traceparent = work?.context?.traceparent
    const { committed, startDeliveries, took } = await (work ? run(work, start) : start())
    const mustNotWait = groups.succeeded(plan, clock.now() - startedAt, took)
    claims.releaseSoon(mustNotWait)
    freeSlot()
    await committed
    startDeliveries?.()
    // The next event of its order key may be due now.
    if (claimed.orderKey !== null) wakeUps.now()
  }

  /**
   * Decides what follows a failed attempt: the event is released, or its failure is recorded, now or later. Returns the outcome;
   * undefined if it could not be recorded yet.
   */
  async #afterFailure(failure: Failure, plan: Plan): Promise<string | undefined> {
    const { claims, groups, log } = this.#parts
    const { claimed, error, now } = failure
    const { event, source, type } = claimed
    claims.releaseSoon(groups.failed(plan))
    if (error instanceof ClaimLost) return 'lost'
    const isConflict = mayRunAgain(error)
    if (isConflict || notItsOwn.some((kind) => error instanceof kind)) {
      if (isConflict)
        log.warn({ err: error, event, source, type }, 'a handler had a conflict with another transaction')
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler timed out waiting for its transaction')
      await claims.release([claimed], error instanceof Stopping ? 0 : pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) groups.ranOutOfTime(plan)
    try {
      return await this.#record(failure)
    } catch (cause) {
      log.warn({ err: cause, event }, 'a failed attempt could not be recorded yet')
      const record = async (): Promise<void> => this.#attempts.inc({ outcome: await this.#record(failure) })
      const leaseEnds = now + plan.timeout + leaseMargin
      claims.settleLater(record, 'a failed attempt could not be recorded; trying again', leaseEnds)
      return undefined
    }
  }

  async #record(failure: Failure): Promise<string> {
    const { log, onFailed, wakeUps } = this.#parts
    const { claimed, error, handler } = failure
    const { event, source, type, attempts, orderKey } = claimed
    const outcome = await recordFailure(this.#parts, failure)
    if (outcome !== 'lost') onFailed?.(handler)
    log.warn({ err: error, event, source, type, handler, attempt: attempts, outcome }, 'a handler failed')
    // It may be due again immediately.
    wakeUps.in(gather)
    // The next event of its order key may be due now.
    if (orderKey !== null) wakeUps.now()
    return outcome
  }
}

function attributesOf({ source, eventId, type, event, attempts }: ClaimedEvent): Work['attributes'] {
  return {
    'postern.source': source,
    'messaging.message.id': eventId,
    'postern.type': type,
    'postern.event': event,
    'postern.attempt': attempts,
  }
}
