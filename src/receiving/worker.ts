import type { Random } from '../clock.ts'
import type { Worker } from '../http/room.ts'
import type { Database } from '../storage/database.ts'
import { SharedCommitFailed } from '../storage/sharing/carrier.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { UnderWay } from '../under-way.ts'
import { attempt, type AttemptParts } from './attempt.ts'
import { beforeAll, nextKinds, oldestByLane, perRound } from './due-kinds.ts'
import { giveBack, recordFailure } from './failures.ts'
import {
  ClaimLost,
  HeldUpOthers,
  Stopping,
  WaitedForTransaction,
  TransactionTimeout,
} from './interruptions.ts'
import { Lanes, type Queued } from './lanes.ts'
import type { Plan, PlanOf } from './plan.ts'
import type { ClaimedEvent, InboxStore, Kind, PendingKind, Wanted } from './store.ts'
import { markUnhandled } from './unhandled.ts'

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
/** From here on, lanes that have something under way get no more of it. */
const scarceFrom = 96
/** Events that one claim takes at most. */
const mostClaimed = 256
/** Rounds in a row that find nothing to begin, before the next wake-up is waited for. */
const mostIdleRounds = 100
/** How long a lease outlives the handler's time: the commit and a slow clock. */
const leaseMargin = 5_000
/** Looks for due work at least this often, in milliseconds: signals may get lost. */
const pollInterval = 1_000
/** While the database is away. */
const pauseAfterError = 1_000
/** How long a few free places, or a few new events, wait for more, so that one claim serves several. */
const gather = 5

/** Not the handler's fault: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

/** Attempts beyond the schedule that may end without a trace, by the end of their process, before the event is failed. */
const mostCrashes = 10

/**
 * Claims due events and runs their handlers. Fair: each round goes on with the next kinds of events, and no lane gets more
 * than its bound, or than one when places are scarce.
 */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #lanes = new Lanes()
  /** Handlers that have not ended. */
  #running = 0
  /** Events that are dealt with, to the end of their commit. */
  readonly #underWay = new UnderWay()
  readonly #attempts
  #claiming: Promise<void> | undefined
  /** The last kind that got something: the next round begins behind it. */
  #after: Kind = beforeAll
  #again = false
  #started = false
  #attending = false
  #cancelTimer: (() => void) | undefined
  #timerAt = Infinity
  #offSignal: (() => void) | undefined
  #stopped = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
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
        for (const [lane, dueAt] of await oldestByLane(parts.store, parts.planOf, now, { idle: false }))
          gauge.set({ lane }, (now - dueAt) / 1000)
      },
    )
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    this.#offSignal = this.#parts.database.onSignal('inbox', () => {
      if (this.#underWay.count === 0) this.wake()
      else this.#wakeIn(gather)
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
    this.#claiming = this.#fill().finally(() => {
      this.#claiming = undefined
      if (this.#again) this.wake()
    })
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    this.#offSignal?.()
    this.#cancelTimer?.()
    const abort = (): void => this.#parts.stops.stop(new Stopping(), true)
    if (deadline.aborted) abort()
    deadline.addEventListener('abort', abort, { once: true })
    await this.#claiming
    await this.#returnUnbegun(this.#lanes.clear())
    await this.#underWay.none()
    deadline.removeEventListener('abort', abort)
    await this.#parts.store.leave()
    await this.#parts.close()
  }

  async oldestDue(): Promise<number | undefined> {
    const { store, planOf, clock } = this.#parts
    const oldest = await oldestByLane(store, planOf, clock.now(), { idle: true })
    return oldest.size === 0 ? undefined : Math.min(...oldest.values())
  }

  /** Rounds until nothing more can be begun. */
  async #fill(): Promise<void> {
    try {
      await this.#attend()
      for (let idle = 0; this.#running < mostRunning && !this.#stopped;) {
        const { begun, more } = await this.#round()
        idle = begun > 0 ? 0 : idle + 1
        if (!more || idle >= mostIdleRounds) break
      }
      this.#wakeIn(pollInterval)
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'received events could not be claimed')
      this.#wakeIn(pauseAfterError)
    }
  }

  async #attend(): Promise<void> {
    if (this.#attending) return
    await this.#parts.store.attend({
      lost: () => {
        this.#lanes.clear()
        this.#parts.stops.stop(
          new StorageUnavailable(new Error('the session that holds the claims was lost')),
          false,
        )
      },
      freed: () => this.wake(),
    })
    this.#attending = true
  }

  /** Begins events of the next kinds; `more` when another round may begin others. */
  async #round(): Promise<{ begun: number; more: boolean }> {
    const { store, clock, database, planOf } = this.#parts
    const now = clock.now()
    const kinds = await nextKinds(store, this.#after, now)
    const due = kinds.filter(({ dueAt }) => dueAt <= now)
    let marked = 0
    const handled: PendingKind[] = []
    for (const kind of due) {
      if (planOf(kind.source, kind.type).handlers.length > 0) handled.push(kind)
      else marked += await markUnhandled(database, kind, now)
    }
    const wanted = this.#want(handled, now)
    const claimed = wanted.length === 0 ? 0 : await this.#claim(wanted, now)
    const last = wanted.at(-1) ?? kinds.at(-1)
    this.#after = last ? { source: last.source, type: last.type } : beforeAll
    const begun = marked + claimed
    return { begun, more: kinds.length >= perRound || (begun > 0 && this.#roomFor(handled)) }
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
      const { key } = plan.lane
      const others = taken.get(key) ?? 0
      const most = this.#lanes.claimable(plan, this.#scarce) - others
      const count = Math.min(most, this.#lanes.isQuick(plan) ? ahead : share, left)
      if (count <= 0) continue
      taken.set(key, others + count)
      left -= count
      wanted.push({ source, type, count, until: now + plan.timeout + leaseMargin })
    }
    return wanted
  }

  #roomFor(due: readonly Kind[]): boolean {
    return due.some(
      ({ source, type }) => this.#lanes.claimable(this.#parts.planOf(source, type), this.#scarce) > 0,
    )
  }

  async #claim(wanted: readonly Wanted[], now: number): Promise<number> {
    const { store, planOf } = this.#parts
    const claimed = await store.claim(wanted, store.newClaim(), now)
    const plans = new Set<Plan>()
    for (const one of claimed) {
      const plan = planOf(one.source, one.type)
      this.#lanes.queue({ claimed: one, plan })
      plans.add(plan)
    }
    for (const plan of plans) this.#beginNext(plan)
    return claimed.length
  }

  /** Begins what waits in a lane, as far as there are places. */
  #beginNext(plan: Plan): void {
    for (let next: Queued | undefined; this.#running < mostRunning && !this.#stopped;) {
      next = this.#lanes.next(plan, this.#scarce)
      if (!next) return
      this.#run(next)
    }
  }

  #run(queued: Queued): void {
    const { claimed, plan } = queued
    this.#running += 1
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      this.#running -= 1
      this.#lanes.end(plan)
      for (const waiting of this.#lanes.waiting(plan)) this.#beginNext(waiting)
      if (this.#lanes.wantsMore(plan)) this.wake()
      else this.#wakeIn(gather)
    }
    const run = this.#process(queued, end)
      .then((outcome) => {
        if (outcome !== undefined) this.#attempts.inc({ outcome })
      })
      // The lease ends by itself, and somebody tries again.
      .catch((error: unknown) =>
        this.#parts.log.error(
          { err: error, event: claimed.event },
          'a received event could not be dealt with',
        ),
      )
      .finally(end)
    void this.#underWay.add(run)
  }

  /**
   * Returns the outcome, unless the event is to be begun once more.
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
        await this.#attempt(claimed, plan, queued.alone ?? !this.#lanes.isShort(plan), end)
      } catch (error) {
        if (error instanceof SharedCommitFailed) {
          if (this.#stopped) throw new Stopping()
          // The handler had ended, and its place is somebody else's: it waits for another one.
          this.#lanes.queueAgain({ ...queued, alone: true })
          this.#beginNext(plan)
          return undefined
        }
        if (!(error instanceof HeldUpOthers)) throw error
        this.#lanes.heldUpOthers(plan)
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
    const unbegun = this.#lanes.succeeded(plan, clock.now() - startedAt, took)
    if (unbegun.length > 0) void this.#returnUnbegun(unbegun)
    end()
    await committed
    if (emitted) database.signal('deliveries')
    this.#goOnAfter(claimed)
  }

  async #afterFailure(claimed: ClaimedEvent, plan: Plan, error: unknown, startedAt: number): Promise<string> {
    const { database, clock, log, schedule, random } = this.#parts
    const { event, source, type } = claimed
    const now = clock.now()
    const unbegun = this.#lanes.failed(plan)
    if (unbegun.length > 0) void this.#returnUnbegun(unbegun)
    if (error instanceof ClaimLost) return 'lost'
    if (notItsOwn.some((kind) => error instanceof kind)) {
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler had to wait')
      // When the database is away this fails too, and the lease ends by itself.
      await giveBack(database, [claimed], error instanceof Stopping ? now : now + pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) this.#lanes.distrust(plan)
    const outcome = await recordFailure(database, { claimed, error, startedAt, now }, schedule, random)
    log.warn({ err: error, event, source, type, attempt: claimed.attempts, outcome }, 'a handler failed')
    this.#goOnAfter(claimed)
    return outcome
  }

  /** Those that waited for it are due now. */
  #goOnAfter({ orderKey }: ClaimedEvent): void {
    if (orderKey !== null) this.wake()
  }

  async #returnUnbegun(claimed: readonly ClaimedEvent[]): Promise<void> {
    try {
      await giveBack(this.#parts.database, claimed, this.#parts.clock.now())
    } catch (error) {
      // Their leases end by themselves.
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
