import type { Random } from '../clock.ts'
import type { Worker } from '../http/room.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { attempt, TransactionTimeout, type AttemptParts } from './attempt.ts'
import { beforeAll, nextKinds, oldestByLane, perRound } from './due-kinds.ts'
import { giveBack, recordFailure } from './failures.ts'
import { Lanes } from './lanes.ts'
import type { Plan, PlanOf } from './plan.ts'
import type { ClaimedEvent, Kind, PendingKind, Wanted } from './store.ts'
import { markUnhandled } from './unhandled.ts'

export interface WorkerParts extends AttemptParts {
  random: Random
  metrics: Metrics
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  planOf: PlanOf
  /** Closes what handlers use, after the last of them. */
  close: () => Promise<void>
}

/** Events that one process works on at once. */
const mostRunning = 64
/** From here on, lanes that have something under way get no more of it. */
const scarceFrom = 32
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

/** Attempts beyond the schedule that may end without a trace, by the end of their process, before the event is failed. */
const mostCrashes = 10

class Stopping extends Error {
  constructor() {
    super('the service is stopping')
    this.name = 'Stopping'
  }
}

/**
 * Claims due events and runs their handlers. Fair: each round goes on with the next kinds of events, and no lane gets more
 * than its bound, or than one when places are scarce.
 */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #lanes = new Lanes()
  readonly #running = new Set<Promise<void>>()
  readonly #attempts
  /** Ends what is under way: at the end of the service, or when its claims are lost. */
  #stop = new AbortController()
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
      if (this.#running.size === 0) this.wake()
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
    const abort = (): void => this.#stop.abort(new Stopping())
    if (deadline.aborted) abort()
    deadline.addEventListener('abort', abort, { once: true })
    await this.#claiming
    await Promise.all(this.#running)
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
      for (let idle = 0; this.#running.size < mostRunning && !this.#stopped;) {
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
        const lost = this.#stop
        if (!this.#stopped) this.#stop = new AbortController()
        lost.abort(new StorageUnavailable(new Error('the session that holds the claims was lost')))
      },
      freed: () => this.wake(),
    })
    this.#attending = true
  }

  /** Begins events of the next kinds; `more` when another round may begin others. */
  async #round(): Promise<{ begun: number; more: boolean }> {
    const { store, clock, database, planOf } = this.#parts
    const now = clock.now()
    const kinds = await nextKinds(store, this.#after)
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

  /** Shares out what is free, and takes it in the lanes. */
  #want(due: readonly PendingKind[], now: number): Wanted[] {
    const wanted: Wanted[] = []
    let free = mostRunning - this.#running.size
    const share = Math.max(1, Math.floor(free / Math.max(1, due.length)))
    const scarce = this.#running.size >= scarceFrom
    for (const { source, type } of due) {
      const plan = this.#parts.planOf(source, type)
      const count = Math.min(this.#lanes.room(plan, scarce), share, free)
      if (count <= 0) continue
      this.#lanes.take(plan, count)
      free -= count
      wanted.push({ source, type, count, until: now + plan.timeout + leaseMargin })
    }
    return wanted
  }

  #roomFor(due: readonly Kind[]): boolean {
    const scarce = this.#running.size >= scarceFrom
    return due.some(({ source, type }) => this.#lanes.room(this.#parts.planOf(source, type), scarce) > 0)
  }

  async #claim(wanted: readonly Wanted[], now: number): Promise<number> {
    const { store, planOf } = this.#parts
    let claimed: ClaimedEvent[] = []
    try {
      const claim = store.newClaim()
      claimed = await store.claim(wanted, claim, now)
      for (const one of claimed) this.#run(one, claim, planOf(one.source, one.type))
    } finally {
      for (const { source, type, count } of wanted) this.#lanes.giveBack(planOf(source, type), count)
    }
    return claimed.length
  }

  #run(claimed: ClaimedEvent, claim: string, plan: Plan): void {
    this.#lanes.take(plan, 1)
    const run = this.#process(claimed, claim, plan)
      .then((outcome) => this.#attempts.inc({ outcome }))
      // The lease ends by itself, and somebody tries again.
      .catch((error: unknown) =>
        this.#parts.log.error(
          { err: error, event: claimed.event },
          'a received event could not be dealt with',
        ),
      )
      .finally(() => {
        this.#lanes.giveBack(plan, 1)
        this.#running.delete(run)
        if (this.#lanes.halfFree(plan)) this.wake()
        else this.#wakeIn(gather)
      })
    this.#running.add(run)
  }

  async #process(claimed: ClaimedEvent, claim: string, plan: Plan): Promise<string> {
    const { database, clock, log, schedule, random } = this.#parts
    const { event, source, type } = claimed
    const startedAt = clock.now()
    try {
      if (claimed.attempts - claimed.attemptsBefore > schedule.length + mostCrashes) {
        throw new Error('the process ended during too many attempts to handle this event')
      }
      const outcome = await attempt(claimed, claim, plan, this.#stop.signal, this.#parts)
      this.#lanes.trust(plan)
      return outcome
    } catch (error) {
      const now = clock.now()
      if (error instanceof Stopping || error instanceof StorageUnavailable) {
        // Not the handler's fault: the attempt does not count. When the database is away this fails too, and the lease ends by itself.
        await giveBack(database, [event], claim, error instanceof Stopping ? now : now + pauseAfterError)
        return 'given-back'
      }
      if (error instanceof TransactionTimeout) this.#lanes.distrust(plan)
      const outcome = await recordFailure(
        database,
        { claimed, claim, error, startedAt, now },
        schedule,
        random,
      )
      log.warn({ err: error, event, source, type, attempt: claimed.attempts, outcome }, 'a handler failed')
      return outcome
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
