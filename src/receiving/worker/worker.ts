import type { Random } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import { SharedCommitFailed } from '../../storage/sharing/transaction-driver.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Progress } from '../../runtime/progress.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import { attempt, type AttemptParts, type AttemptTrace } from './attempt.ts'
import { KindRotation, oldestByGroup, perRound } from './due-kinds.ts'
import { giveBack, recordFailure } from './failures.ts'
import type { FailureTally } from '../failure-groups/tally.ts'
import { HandlerSlots } from './handler-slots.ts'
import {
  ClaimLost,
  HeldUpOthers,
  Stopping,
  WaitedForTransaction,
  TransactionTimeout,
} from './interruptions.ts'
import { ConcurrencyGroups, type Queued } from './concurrency-groups.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import type { ClaimedEvent, EventQueue, Kind, PendingKind, Wanted } from '../queue/store.ts'
import { markUnhandled } from './unhandled.ts'
import { Unsettled } from './unsettled.ts'

export interface WorkerParts extends AttemptParts {
  database: Database
  store: EventQueue
  random: Random
  metrics: Metrics
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  planOf: PlanOf
  pauses: Pauses
  failureGroups: FailureTally
  /** Called for each run of a handler without an error, with its milliseconds. */
  onHandled?: ((handler: string, duration: number) => void) | undefined
  /** Called for each recorded failure of a handler. */
  onFailed?: ((handler: string) => void) | undefined
  /** Closes what handlers use, after the last handler. */
  close: () => Promise<void>
}

/** Handlers that run at once in one process. */
const mostRunning = 192
/** From this number on, a concurrency group runs only one handler at a time. */
const scarceFrom = 96
/** Events that one claim takes at most. */
const mostClaimed = 256
/** Rounds in a row that start nothing, before the worker waits for the next wake-up. */
const mostIdleRounds = 100
/** Milliseconds that a lease lasts beyond the handler's time limit: for the wait for a slot, the commit and a slow clock. */
const leaseMargin = 5_000
/** Milliseconds between two looks for due work: signals may be lost. */
const pollInterval = 1_000
/** Milliseconds between two signals to other processes while more is due than this process can run. */
const callEvery = 100
/** Milliseconds before the next try while the database does not answer. */
const pauseAfterError = 1_000
/** Milliseconds that a few free slots or a few new events wait for more, so that one claim serves several. */
const gather = 5

/** Errors that the handler did not cause: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

/**
 * Attempts beyond the schedule that may end without a record, because their process ended. Further attempts fail without running the
 * handlers.
 */
const mostCrashes = 10

/**
 * Claims due events and runs their handlers. It is fair: each round continues with the next kinds of events, and no concurrency
 * group gets more slots than its limit, or more than one when few slots are free.
 */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #groups: ConcurrencyGroups
  /** Where other processes run the same handlers. */
  readonly #slots: HandlerSlots | undefined
  /** Handlers that have not ended. */
  #running = 0
  /** Work that a stop waits for: events until the end of their commit, and claims that are being given back. */
  readonly #inFlight = new InFlight()
  /** Events that are being processed, until the end of their commit. */
  readonly #processing = new Set<Queued>()
  readonly #unsettled: Unsettled
  readonly #progress: Progress
  readonly #attempts
  /** How often the session that holds the claims was lost, so that other processes could take them over. */
  #losses = 0
  #claiming: Promise<void> | undefined
  readonly #rotation: KindRotation
  #again = false
  /** Whether the last round left due events, or events may be due without a signal. */
  #moreDue = true
  #calledAt = -Infinity
  #started = false
  #attending = false
  #cancelTimer: (() => void) | undefined
  #timerAt = Infinity
  #offSignal: (() => void) | undefined
  #offSetBack: (() => void) | undefined
  /** Whether the database was restored to an earlier state, so that it may hold claims that this process has forgotten. */
  #setBack = false
  /** Keys of events that have been running since before that: the database may have forgotten their claims. */
  readonly #runningSince = new Set<string>()
  #stopped = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#rotation = new KindRotation(parts.store)
    this.#groups = new ConcurrencyGroups((bound) => (this.#slots ? this.#slots.allowed(bound) : bound.limit))
    this.#slots = this.#shareSlots()
    this.#unsettled = new Unsettled(parts)
    this.#progress = new Progress(parts.clock)
    this.#attempts = parts.metrics.counter(
      'postern_handler_attempts_total',
      'Attempts to process a received event by outcome: processed, retry, failed, lost, given-back',
      ['outcome'],
    )
    parts.metrics.gauge(
      'postern_handler_lag_seconds',
      'Age of the oldest event that is due, by source and handler',
      ['lane'],
      async (gauge) => {
        gauge.reset()
        const now = parts.clock.now()
        for (const [group, dueAt] of await oldestByGroup(parts.store, parts.planOf, now, { idle: false }))
          gauge.set({ lane: group }, (now - dueAt) / 1000)
      },
    )
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    this.#progress.made()
    this.#offSignal = this.#parts.database.onSignal('event_queue', () => {
      if (this.#inFlight.count === 0) this.wake()
      else this.#wakeIn(gather)
    })
    this.#offSetBack = this.#parts.database.onSetBack(() => {
      this.#setBack = true
      for (const { claimed } of this.#processing) this.#runningSince.add(keyOf(claimed))
      this.wake()
    })
    this.wake()
  }

  /** Looks for due work now. */
  wake(): void {
    if (!this.#started || this.#stopped) return
    if (this.#claiming) {
      this.#again = true
      return
    }
    this.#again = false
    this.#moreDue = false
    this.#claiming = this.#fill().finally(() => {
      this.#claiming = undefined
      if (this.#again) this.wake()
    })
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    this.#offSignal?.()
    this.#offSetBack?.()
    this.#cancelTimer?.()
    const abort = (): void => this.#parts.aborts.abort(new Stopping())
    if (deadline.aborted) abort()
    deadline.addEventListener('abort', abort, { once: true })
    await this.#claiming
    await this.#giveBack(this.#groups.clear(), this.#parts.clock.now())
    const sharedOut = this.#slots?.stop()
    await this.#inFlight.drained()
    await sharedOut
    deadline.removeEventListener('abort', abort)
    await this.#settleAtTheEnd()
    // Other processes take over what is still claimed.
    await this.#parts.store.leave(!this.#unsettled.any)
    await this.#parts.close()
  }

  sinceRound(): number {
    return this.#progress.age
  }

  async oldestDue(): Promise<number | undefined> {
    const { store, planOf, pauses, clock } = this.#parts
    await pauses.refresh()
    const isHeld = (plan: Plan): boolean => pauses.holds(plan)
    const oldest = await oldestByGroup(store, planOf, clock.now(), { idle: true, isHeld })
    return oldest.size === 0 ? undefined : Math.min(...oldest.values())
  }

  /** Repeats rounds until no more handlers can be started. */
  async #fill(): Promise<void> {
    try {
      await this.#attend()
      // The rounds do it too, but there is none while no slot is free.
      await this.#unsettled.settle()
      if (this.#setBack) await this.#releaseUnknown()
      await this.#holdPaused()
      for (let idle = 0; this.#running < mostRunning && !this.#stopped;) {
        const { begun, more } = await this.#round()
        this.#progress.made()
        idle = begun > 0 ? 0 : idle + 1
        if (!more || idle >= mostIdleRounds) break
      }
      if (this.#running >= mostRunning) this.#moreDue = true
      if (this.#moreDue) this.#callOthers()
      this.#progress.made()
      this.#wakeIn(pollInterval)
    } catch (error) {
      this.#moreDue = true
      this.#parts.log.warn({ err: error }, 'received events could not be claimed')
      this.#wakeIn(pauseAfterError)
    }
  }

  /** Returns the queued events of handlers that have been paused. Running ones are left to end. */
  async #holdPaused(): Promise<void> {
    const { pauses, clock } = this.#parts
    await pauses.refresh()
    this.#giveBackSoon(
      this.#groups.withdrawHeld((plan) => pauses.holds(plan)),
      clock.now(),
    )
  }

  /** Wakes other processes, which may have free slots. */
  #callOthers(): void {
    const now = this.#parts.clock.now()
    if (Math.abs(now - this.#calledAt) < callEvery) return
    this.#calledAt = now
    this.#parts.database.signalOthers('event_queue')
  }

  async #attend(): Promise<void> {
    if (this.#attending) return
    await this.#parts.store.attend({
      lost: () => {
        this.#losses += 1
        this.#groups.clear()
        this.#slots?.forget()
        const reason = new Error('the session that holds the claims was lost')
        this.#parts.aborts.abortCurrent(new StorageUnavailable(reason))
      },
      freed: () => this.wake(),
    })
    this.#attending = true
  }

  /**
   * Releases claims that a restored database still holds although this process has processed their events. No claim is in
   * flight now, so every claim whose event is neither being processed nor queued is one of them.
   */
  async #releaseUnknown(): Promise<void> {
    this.#setBack = false
    try {
      const running = [...this.#processing].map(({ claimed }) => claimed)
      await this.#parts.store.releaseAllBut?.([...running, ...this.#groups.allClaimed()])
    } catch (error) {
      this.#setBack = true
      throw error
    }
  }

  /** Returns the events whose handlers are not running already; the others become due again after a pause. */
  #notRunning(claimed: readonly ClaimedEvent[]): readonly ClaimedEvent[] {
    if (this.#runningSince.size === 0) return claimed
    const { true: running = [], false: others = [] } = Object.groupBy(claimed, (one) =>
      String(this.#runningSince.has(keyOf(one))),
    )
    if (running.length > 0) this.#giveBackSoon(running, this.#parts.clock.now() + pauseAfterError)
    return others
  }

  #shareSlots(): HandlerSlots | undefined {
    const { store, clock, database, log } = this.#parts
    if (!store.slots) return undefined
    return new HandlerSlots({
      store: store.slots,
      clock,
      groups: this.#groups,
      onMore: () => {
        for (const plan of this.#groups.allWaiting()) this.#beginNext(plan)
        this.wake()
      },
      onNone: (key) => this.#giveBackSoon(this.#groups.withdraw(key), clock.now()),
      onFreed: () => database.signal('event_queue'),
      onError: (error) =>
        log.warn({ err: error }, 'the slots of handlers with a concurrency could not be shared'),
    })
  }

  /** Starts events of the next kinds; `more` if another round may start others. */
  async #round(): Promise<{ begun: number; more: boolean }> {
    const { clock, database, planOf, pauses } = this.#parts
    await this.#unsettled.settle()
    const now = clock.now()
    const kinds = await this.#rotation.next(now)
    const due = kinds.filter(({ dueAt }) => dueAt <= now)
    let marked = 0
    const handled: PendingKind[] = []
    for (const kind of due) {
      const plan = planOf(kind.source, kind.type)
      if (pauses.holds(plan)) continue
      this.#slots?.want(plan)
      if (plan.handlers.length > 0) handled.push(kind)
      else {
        marked += await markUnhandled(database, kind, now)
        this.#progress.made()
      }
    }
    const wanted = this.#want(handled, now)
    const counts = wanted.length === 0 ? undefined : await this.#claim(wanted, now)
    const claimed = counts ? sum(counts.values()) : 0
    // A kind that returned fewer events than wanted has no more due.
    const left =
      kinds.length >= perRound ||
      marked > 0 ||
      wanted.length < handled.length ||
      wanted.some((one) => counts!.get(nameOf(one)) === one.count)
    if (left) this.#moreDue = true
    const next = Math.min(...kinds.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now))
    if (next - now < pollInterval) this.#wakeIn(next - now)
    this.#rotation.goOnBehind(wanted.at(-1) ?? kinds.at(-1))
    const begun = marked + claimed
    return { begun, more: kinds.length >= perRound || (left && begun > 0 && this.#roomFor(handled)) }
  }

  get #scarce(): boolean {
    return this.#running >= scarceFrom
  }

  /** Divides the events that may be claimed among the kinds. */
  #want(due: readonly PendingKind[], now: number): Wanted[] {
    const wanted: Wanted[] = []
    const free = mostRunning - this.#running
    const share = Math.max(1, Math.floor(free / Math.max(1, due.length)))
    const ahead = Math.max(1, Math.floor(mostClaimed / Math.max(1, due.length)))
    let left = mostClaimed
    const taken = new Map<string, number>()
    for (const { source, type } of due) {
      const plan = this.#parts.planOf(source, type)
      const { key } = plan.group
      const others = taken.get(key) ?? 0
      const most = this.#groups.claimable(plan, this.#scarce) - others
      const count = Math.min(most, this.#groups.isQuick(plan) ? ahead : share, left)
      if (count <= 0) continue
      taken.set(key, others + count)
      left -= count
      wanted.push({ source, type, count, until: now + plan.timeout + leaseMargin })
    }
    return wanted
  }

  #roomFor(due: readonly Kind[]): boolean {
    return due.some(
      ({ source, type }) => this.#groups.claimable(this.#parts.planOf(source, type), this.#scarce) > 0,
    )
  }

  /** Returns the number of claimed events of each kind. */
  async #claim(wanted: readonly Wanted[], now: number): Promise<Map<string, number>> {
    const { store, planOf } = this.#parts
    const claim = store.newClaim()
    const losses = this.#losses
    let claimed: ClaimedEvent[]
    try {
      claimed = await store.claim(wanted, claim, now)
    } catch (error) {
      this.#unsettled.claimLost(claim, wanted, now)
      throw error
    }
    if (losses !== this.#losses) {
      this.#unsettled.claimLost(claim, wanted, now)
      return new Map()
    }
    const plans = new Set<Plan>()
    const counts = new Map<string, number>()
    for (const one of claimed) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1)
    for (const one of this.#notRunning(claimed)) {
      const plan = planOf(one.source, one.type)
      this.#groups.queue({ claimed: one, plan })
      plans.add(plan)
    }
    for (const plan of plans) this.#beginNext(plan)
    return counts
  }

  /** Starts queued events of a group while slots are free. */
  #beginNext(plan: Plan): void {
    for (let next: Queued | undefined; this.#running < mostRunning && !this.#stopped;) {
      next = this.#groups.next(plan, this.#scarce)
      if (!next) return
      this.#run(next)
    }
  }

  #run(queued: Queued): void {
    this.#running += 1
    this.#processing.add(queued)
    let isFree = false
    const freeSlot = (): void => {
      if (isFree) return
      isFree = true
      this.#freeSlot(queued.plan)
    }
    void this.#inFlight.add(this.#runToEnd(queued, freeSlot))
  }

  #freeSlot(plan: Plan): void {
    this.#running -= 1
    this.#groups.end(plan)
    for (const waiting of this.#groups.waiting(plan)) this.#beginNext(waiting)
    // New events wake the worker by a signal.
    if (!this.#moreDue) return
    if (this.#groups.wantsMore(plan)) this.wake()
    else this.#wakeIn(gather)
  }

  /** Processes an event, including its commit, and counts the outcome. Never rejects. */
  async #runToEnd(queued: Queued, freeSlot: () => void): Promise<void> {
    const { claimed } = queued
    const began = performance.now()
    try {
      const outcome = await this.#process(queued, freeSlot)
      if (outcome !== undefined) this.#attempts.inc({ outcome })
      if (outcome === 'processed' || outcome === 'retry' || outcome === 'failed')
        this.#parts.metrics.durations.handlers.observe(performance.now() - began)
    } catch (error) {
      this.#parts.log.error({ err: error, event: claimed.event }, 'a received event could not be processed')
    } finally {
      this.#processing.delete(queued)
      if (this.#runningSince.size > 0) this.#runningSince.delete(keyOf(claimed))
      freeSlot()
    }
  }

  /**
   * Returns the outcome; undefined if the event was queued again, or if its outcome could not be recorded yet.
   * @param freeSlot called as soon as the handlers have ended: the commit needs no slot.
   */
  async #process(queued: Queued, freeSlot: () => void): Promise<string | undefined> {
    const { claimed, plan } = queued
    const startedAt = this.#parts.clock.now()
    const trace: AttemptTrace = { onEnd: this.#parts.onHandled }
    try {
      if (claimed.attempts - claimed.attemptsBefore > this.#parts.schedule.length + mostCrashes)
        throw new Error('the process ended during too many attempts to handle this event')
      await this.#attemptOnceOrTwice(queued, trace, freeSlot)
      return 'processed'
    } catch (error) {
      if (!(error instanceof SharedCommitFailed)) return this.#afterFailure(queued, trace, error, startedAt)
      if (this.#stopped) return this.#afterFailure(queued, trace, new Stopping(), startedAt)
      // Its slot was freed when its handlers ended, so it waits for another one.
      this.#groups.queueAgain({ ...queued, alone: true })
      this.#beginNext(plan)
      return undefined
    }
  }

  /** Attempts an event; if its transaction delayed others, attempts it again in a transaction of its own. */
  async #attemptOnceOrTwice(
    { claimed, plan, alone }: Queued,
    trace: AttemptTrace,
    freeSlot: () => void,
  ): Promise<void> {
    try {
      await this.#attempt(claimed, plan, { alone: alone ?? !this.#groups.isShort(plan), trace }, freeSlot)
    } catch (error) {
      if (!(error instanceof HeldUpOthers)) throw error
      this.#groups.heldUpOthers(plan)
      await this.#attempt(claimed, plan, { alone: true, trace }, freeSlot)
    }
  }

  async #attempt(
    claimed: ClaimedEvent,
    plan: Plan,
    { alone, trace }: { alone: boolean; trace: AttemptTrace },
    freeSlot: () => void,
  ): Promise<void> {
    const { clock, database } = this.#parts
    const startedAt = clock.now()
    const { committed, emitted, took } = await attempt(claimed, plan, alone, this.#parts, trace)
    const unbegun = this.#groups.succeeded(plan, clock.now() - startedAt, took)
    this.#giveBackSoon(unbegun, clock.now())
    freeSlot()
    await committed
    if (emitted) database.signal('deliveries')
    this.#goOnAfter(claimed)
  }

  async #afterFailure(
    { claimed, plan }: Queued,
    trace: AttemptTrace,
    error: unknown,
    startedAt: number,
  ): Promise<string | undefined> {
    const { clock, log } = this.#parts
    const { event, source, type } = claimed
    const now = clock.now()
    const unbegun = this.#groups.failed(plan)
    this.#giveBackSoon(unbegun, now)
    if (error instanceof ClaimLost) return 'lost'
    if (notItsOwn.some((kind) => error instanceof kind)) {
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler had to wait')
      await this.#giveBack([claimed], error instanceof Stopping ? now : now + pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) this.#groups.ranOutOfTime(plan)
    const record = async (): Promise<string> => {
      const handler = trace.handler ?? plan.handlers[0]?.id ?? ''
      const outcome = await recordFailure(this.#parts, { claimed, error, startedAt, now, handler })
      if (outcome !== 'lost') this.#parts.onFailed?.(handler)
      log.warn({ err: error, event, source, type, attempt: claimed.attempts, outcome }, 'a handler failed')
      // It may be due again immediately.
      this.#wakeIn(gather)
      this.#goOnAfter(claimed)
      return outcome
    }
    try {
      return await record()
    } catch (cause) {
      log.warn({ err: cause, event }, 'a failed attempt could not be recorded; it will be')
      this.#unsettled.toRecord(
        async () => this.#attempts.inc({ outcome: await record() }),
        now + plan.timeout + leaseMargin,
      )
      this.#wakeIn(gather)
      return undefined
    }
  }

  /** Events with the same order key may be due now. */
  #goOnAfter({ orderKey }: ClaimedEvent): void {
    if (orderKey !== null) this.wake()
  }

  #giveBackSoon(claimed: readonly ClaimedEvent[], dueAt: number): void {
    if (claimed.length > 0) void this.#inFlight.add(this.#giveBack(claimed, dueAt))
  }

  /** Returns claimed events; while the database does not answer, remembers them for later. */
  async #giveBack(claimed: readonly ClaimedEvent[], dueAt: number): Promise<void> {
    const { database, clock, log, planOf } = this.#parts
    try {
      await giveBack(database, claimed, dueAt)
      if (claimed.length > 0) this.#wakeIn(Math.max(gather, dueAt - clock.now()))
    } catch (error) {
      log.warn({ err: error, events: claimed.length }, 'claimed events could not be given back; they will be')
      for (const one of claimed) {
        const { timeout } = planOf(one.source, one.type)
        this.#unsettled.toReturn(one, clock.now() + timeout + leaseMargin)
      }
      this.#wakeIn(gather)
    }
  }

  async #settleAtTheEnd(): Promise<void> {
    try {
      await this.#unsettled.settle()
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'claimed events could not be given back')
    }
  }

  #wakeIn(ms: number): void {
    const at = this.#parts.clock.now() + ms
    if (this.#stopped || at >= this.#timerAt) return
    this.#cancelTimer?.()
    this.#timerAt = at
    this.#cancelTimer = this.#parts.clock.after(ms, () => {
      this.#timerAt = Infinity
      this.wake()
    })
  }
}

/** Identifies an event independently of its number in the log. */
function keyOf({ source, eventId }: ClaimedEvent): string {
  return `${source} ${eventId}`
}

const nameOf = ({ source, type }: Kind): string => `${source} ${type}`

function sum(counts: Iterable<number>): number {
  let all = 0
  for (const count of counts) all += count
  return all
}
