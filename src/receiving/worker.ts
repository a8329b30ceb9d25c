import type { Random } from '../runtime/clock.ts'
import type { Worker } from '../runtime/worker.ts'
import type { Database } from '../storage/database.ts'
import { SharedCommitFailed } from '../storage/sharing/transaction-driver.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Progress } from '../runtime/progress.ts'
import { InFlight } from '../runtime/in-flight.ts'
import { attempt, type AttemptParts } from './attempt.ts'
import { KindRotation, oldestByGroup, perRound } from './due-kinds.ts'
import { giveBack, recordFailure } from './failures.ts'
import { HandlerSlots } from './handler-slots.ts'
import {
  ClaimLost,
  HeldUpOthers,
  Stopping,
  WaitedForTransaction,
  TransactionTimeout,
} from './interruptions.ts'
import { ConcurrencyGroups, type Queued } from './concurrency-groups.ts'
import type { Plan, PlanOf } from './plan.ts'
import type { ClaimedEvent, InboxStore, Kind, PendingKind, Wanted } from './store.ts'
import { markUnhandled } from './unhandled.ts'
import { Unsettled } from './unsettled.ts'

export interface WorkerParts extends AttemptParts {
  database: Database
  store: InboxStore
  random: Random
  metrics: Metrics
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  planOf: PlanOf
  /** Closes what handlers use, after the last of them. */
  close: () => Promise<void>
}

/** Handlers that run at once in one process. */
const mostRunning = 192
/** From here on, groups that have something under way get no more of it. */
const scarceFrom = 96
/** Events that one claim takes at most. */
const mostClaimed = 256
/** Rounds in a row that find nothing to begin, before the next wake-up is waited for. */
const mostIdleRounds = 100
/** How long a lease outlives the handler's time: the commit and a slow clock. */
const leaseMargin = 5_000
/** Looks for due work at least this often, in milliseconds: signals may get lost. */
const pollInterval = 1_000
/** Milliseconds between two calls for help to other processes, while there is more to do than this one takes. */
const callEvery = 100
/** While the database is away. */
const pauseAfterError = 1_000
/** How long a few free places, or a few new events, wait for more, so that one claim serves several. */
const gather = 5

/** Not the handler's fault: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

/** Attempts beyond the schedule that may end without a trace, by the end of their process, before the event is failed. */
const mostCrashes = 10

/**
 * Claims due events and runs their handlers. Fair: each round goes on with the next kinds of events, and no group gets more
 * than its bound, or than one when places are scarce.
 */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #groups: ConcurrencyGroups
  /** Where other processes run the same handlers. */
  readonly #slots: HandlerSlots | undefined
  /** Handlers that have not ended. */
  #running = 0
  /** Events that are dealt with, to the end of their commit. */
  readonly #inFlight = new InFlight()
  /** Which these are. */
  readonly #dealtWith = new Set<Queued>()
  readonly #unsettled: Unsettled
  readonly #progress: Progress
  readonly #attempts
  /** How often others could take over all that was claimed. */
  #losses = 0
  #claiming: Promise<void> | undefined
  readonly #rotation: KindRotation
  #again = false
  /** Whether the last look left something that is due, or something may have become due that nobody tells of. */
  #left = true
  #calledAt = -Infinity
  #started = false
  #attending = false
  #cancelTimer: (() => void) | undefined
  #timerAt = Infinity
  #offSignal: (() => void) | undefined
  #offSetBack: (() => void) | undefined
  /** Whether the database may hold claims of this process of which it knows nothing. */
  #setBack = false
  /** What has been running since before the database was taken back, which may know nothing of its claims. */
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
    this.#offSignal = this.#parts.database.onSignal('inbox', () => {
      if (this.#inFlight.count === 0) this.wake()
      else this.#wakeIn(gather)
    })
    this.#offSetBack = this.#parts.database.onSetBack(() => {
      this.#setBack = true
      for (const { claimed } of this.#dealtWith) this.#runningSince.add(keyOf(claimed))
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
    this.#left = false
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
    const abort = (): void => this.#parts.registry.abortAll(new Stopping(), true)
    if (deadline.aborted) abort()
    deadline.addEventListener('abort', abort, { once: true })
    await this.#claiming
    await this.#giveBack(this.#groups.clear(), this.#parts.clock.now())
    const sharedOut = this.#slots?.stop()
    await this.#inFlight.drained()
    await sharedOut
    deadline.removeEventListener('abort', abort)
    await this.#settleAtTheEnd()
    // Others take over what is still held.
    await this.#parts.store.leave(!this.#unsettled.any)
    await this.#parts.close()
  }

  sinceRound(): number {
    return this.#progress.age
  }

  async oldestDue(): Promise<number | undefined> {
    const { store, planOf, clock } = this.#parts
    const oldest = await oldestByGroup(store, planOf, clock.now(), { idle: true })
    return oldest.size === 0 ? undefined : Math.min(...oldest.values())
  }

  /** Rounds until nothing more can be begun. */
  async #fill(): Promise<void> {
    try {
      await this.#attend()
      // Also when there is no place for another handler.
      await this.#unsettled.settle()
      if (this.#setBack) await this.#releaseUnknown()
      for (let idle = 0; this.#running < mostRunning && !this.#stopped;) {
        const { begun, more } = await this.#round()
        this.#progress.made()
        idle = begun > 0 ? 0 : idle + 1
        if (!more || idle >= mostIdleRounds) break
      }
      if (this.#running >= mostRunning) this.#left = true
      if (this.#left) this.#callOthers()
      this.#progress.made()
      this.#wakeIn(pollInterval)
    } catch (error) {
      this.#left = true
      this.#parts.log.warn({ err: error }, 'received events could not be claimed')
      this.#wakeIn(pauseAfterError)
    }
  }

  /** Other processes may have places for what this one leaves. */
  #callOthers(): void {
    const now = this.#parts.clock.now()
    if (Math.abs(now - this.#calledAt) < callEvery) return
    this.#calledAt = now
    this.#parts.database.signalOthers('inbox')
  }

  async #attend(): Promise<void> {
    if (this.#attending) return
    await this.#parts.store.attend({
      lost: () => {
        this.#losses += 1
        this.#groups.clear()
        this.#slots?.forget()
        this.#parts.registry.abortAll(
          new StorageUnavailable(new Error('the session that holds the claims was lost')),
          false,
        )
      },
      freed: () => this.wake(),
    })
    this.#attending = true
  }

  /**
   * The database was taken back: it holds claims again whose events this process has dealt with since. No claim is under way
   * now, so what is neither dealt with nor waiting is such a one.
   */
  async #releaseUnknown(): Promise<void> {
    this.#setBack = false
    try {
      const running = [...this.#dealtWith].map(({ claimed }) => claimed)
      await this.#parts.store.releaseAllBut?.([...running, ...this.#groups.allClaimed()])
    } catch (error) {
      this.#setBack = true
      throw error
    }
  }

  /** Those whose handlers do not run already; the others are due again when these have had a while to end. */
  #notRunning(claimed: readonly ClaimedEvent[]): readonly ClaimedEvent[] {
    if (this.#runningSince.size === 0) return claimed
    const { true: running = [], false: others = [] } = Object.groupBy(claimed, (one) =>
      String(this.#runningSince.has(keyOf(one))),
    )
    if (running.length > 0) void this.#giveBack(running, this.#parts.clock.now() + pauseAfterError)
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
      onNone: (key) => void this.#giveBack(this.#groups.withdraw(key), clock.now()),
      onFreed: () => database.signal('inbox'),
      onError: (error) =>
        log.warn({ err: error }, 'the slots of handlers with a concurrency could not be shared'),
    })
  }

  /** Begins events of the next kinds; `more` when another round may begin others. */
  async #round(): Promise<{ begun: number; more: boolean }> {
    const { clock, database, planOf } = this.#parts
    await this.#unsettled.settle()
    const now = clock.now()
    const kinds = await this.#rotation.next(now)
    const due = kinds.filter(({ dueAt }) => dueAt <= now)
    let marked = 0
    const handled: PendingKind[] = []
    for (const kind of due) {
      const plan = planOf(kind.source, kind.type)
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
    // Of a kind that gave less than was wanted nothing is left.
    const left =
      kinds.length >= perRound ||
      marked > 0 ||
      wanted.length < handled.length ||
      wanted.some((one) => counts!.get(nameOf(one)) === one.count)
    if (left) this.#left = true
    const next = Math.min(...kinds.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now))
    if (next - now < pollInterval) this.#wakeIn(next - now)
    this.#rotation.goOnBehind(wanted.at(-1) ?? kinds.at(-1))
    const begun = marked + claimed
    return { begun, more: kinds.length >= perRound || (left && begun > 0 && this.#roomFor(handled)) }
  }

  get #scarce(): boolean {
    return this.#running >= scarceFrom
  }

  /** Shares out what may be claimed. */
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

  /** Returns how many were claimed of each kind. */
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

  /** Begins what waits in a group, as far as there are places. */
  #beginNext(plan: Plan): void {
    for (let next: Queued | undefined; this.#running < mostRunning && !this.#stopped;) {
      next = this.#groups.next(plan, this.#scarce)
      if (!next) return
      this.#run(next)
    }
  }

  #run(queued: Queued): void {
    const { claimed, plan } = queued
    this.#running += 1
    this.#dealtWith.add(queued)
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      this.#running -= 1
      this.#groups.end(plan)
      for (const waiting of this.#groups.waiting(plan)) this.#beginNext(waiting)
      // What comes new is told of.
      if (!this.#left) return
      if (this.#groups.wantsMore(plan)) this.wake()
      else this.#wakeIn(gather)
    }
    const run = this.#process(queued, end)
      .then((outcome) => {
        if (outcome !== undefined) this.#attempts.inc({ outcome })
      })
      .catch((error: unknown) =>
        this.#parts.log.error(
          { err: error, event: claimed.event },
          'a received event could not be dealt with',
        ),
      )
      .finally(() => {
        this.#dealtWith.delete(queued)
        if (this.#runningSince.size > 0) this.#runningSince.delete(keyOf(claimed))
        end()
      })
    void this.#inFlight.add(run)
  }

  /**
   * Returns the outcome, unless the event is to be begun once more or its outcome is still to be written.
   * @param end called as soon as the handler has ended: its commit takes no place.
   */
  async #process(queued: Queued, end: () => void): Promise<string | undefined> {
    const { claimed, plan } = queued
    const { clock, schedule } = this.#parts
    const startedAt = clock.now()
    try {
      if (claimed.attempts - claimed.attemptsBefore > schedule.length + mostCrashes) {
        throw new Error('the process ended during too many attempts to handle this event')
      }
      try {
        await this.#attempt(claimed, plan, queued.alone ?? !this.#groups.isShort(plan), end)
      } catch (error) {
        if (error instanceof SharedCommitFailed) {
          if (this.#stopped) throw new Stopping()
          // The handler had ended, and its place is somebody else's: it waits for another one.
          this.#groups.queueAgain({ ...queued, alone: true })
          this.#beginNext(plan)
          return undefined
        }
        if (!(error instanceof HeldUpOthers)) throw error
        this.#groups.heldUpOthers(plan)
        await this.#attempt(claimed, plan, true, end)
      }
      return 'processed'
    } catch (error) {
      return this.#afterFailure(claimed, plan, error, startedAt)
    }
  }

  async #attempt(claimed: ClaimedEvent, plan: Plan, alone: boolean, end: () => void): Promise<void> {
    const { clock, database } = this.#parts
    const startedAt = clock.now()
    const { committed, emitted, took } = await attempt(claimed, plan, alone, this.#parts)
    const unbegun = this.#groups.succeeded(plan, clock.now() - startedAt, took)
    if (unbegun.length > 0) void this.#giveBack(unbegun, clock.now())
    end()
    await committed
    if (emitted) database.signal('deliveries')
    this.#goOnAfter(claimed)
  }

  async #afterFailure(
    claimed: ClaimedEvent,
    plan: Plan,
    error: unknown,
    startedAt: number,
  ): Promise<string | undefined> {
    const { database, clock, log, schedule, random } = this.#parts
    const { event, source, type } = claimed
    const now = clock.now()
    const unbegun = this.#groups.failed(plan)
    if (unbegun.length > 0) void this.#giveBack(unbegun, now)
    if (error instanceof ClaimLost) return 'lost'
    if (notItsOwn.some((kind) => error instanceof kind)) {
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler had to wait')
      await this.#giveBack([claimed], error instanceof Stopping ? now : now + pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) this.#groups.shrinkWindow(plan)
    const record = async (): Promise<string> => {
      const outcome = await recordFailure(database, { claimed, error, startedAt, now }, schedule, random)
      log.warn({ err: error, event, source, type, attempt: claimed.attempts, outcome }, 'a handler failed')
      // It may be due again at once.
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

  /** Those that waited for it are due now. */
  #goOnAfter({ orderKey }: ClaimedEvent): void {
    if (orderKey !== null) this.wake()
  }

  /** While the database does not take them, they are remembered. */
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

/** What an event is known by, whatever its number. */
function keyOf({ source, eventId }: ClaimedEvent): string {
  return `${source} ${eventId}`
}

const nameOf = ({ source, type }: Kind): string => `${source} ${type}`

function sum(counts: Iterable<number>): number {
  let all = 0
  for (const count of counts) all += count
  return all
}
