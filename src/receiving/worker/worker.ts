import { systemClock, type Scheduler } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import { Progress } from '../../runtime/progress.ts'
import { aborted, whenAborted } from '../../runtime/when-aborted.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import { ClaimReleases } from './claim-releases.ts'
import { ClaimRounds } from './claim-rounds.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { EventRunner, type EventRunnerParts } from './event-runner.ts'
import { HandlerSlots } from './handler-slots.ts'
import { InsertClaims } from './insert-claims.ts'
import { Stopping } from './interruptions.ts'
import { measureLag, oldestWaiting } from './lag.ts'
import { RestoredClaims } from './restored-claims.ts'
import { gather, pauseAfterError, pollInterval } from './timing.ts'
import { Unsettled } from './unsettled.ts'
import { WakeUps } from './wake-ups.ts'

export interface WorkerParts extends EventRunnerParts {
  store: EventQueue
  planOf: PlanOf
  pauses: Pauses
  /** The event loop. Default: that of the process. */
  scheduler?: Pick<Scheduler, 'soon'> | undefined
  /** Closes what handlers use, after the last handler. */
  close: () => Promise<void>
}

/** Rounds in a row that start nothing, before the worker waits for the next wake-up. */
const mostIdleRounds = 100
/** Milliseconds between two signals to other processes while more is due than this process can run. */
const callEvery = 100

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
  readonly #wakeUps: WakeUps
  /** Work that a stop waits for: events until the end of their commit, and claims that are being given back. */
  readonly #inFlight = new InFlight()
  readonly #unsettled: Unsettled
  readonly #restored = new RestoredClaims()
  readonly #returns: ClaimReleases
  readonly #runner: EventRunner
  readonly #rounds: ClaimRounds
  readonly #insertClaims: InsertClaims
  readonly #progress: Progress
  /** Whether the last pass has ended, and has left no due event. */
  #isCaughtUp = false
  /** Whether the last pass left due events, or events may be due without a signal. */
  #moreDue = true
  #calledAt = -Infinity
  #hasSession = false
  #unsubscribe: (() => void)[] = []
  #state: 'new' | 'started' | 'stopped' = 'new'

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#wakeUps = new WakeUps(parts.clock, () => this.#pass())
    this.#groups = new ConcurrencyGroups((bound) => (this.#slots ? this.#slots.allowed(bound) : bound.limit))
    this.#unsettled = new Unsettled(parts)
    this.#progress = new Progress(parts.clock)
    const shared = {
      ...parts,
      groups: this.#groups,
      inFlight: this.#inFlight,
      restored: this.#restored,
      unsettled: this.#unsettled,
      wakeUps: this.#wakeUps,
    }
    this.#returns = new ClaimReleases(shared)
    this.#runner = new EventRunner({
      ...shared,
      returns: this.#returns,
      onFree: (plan) => this.#claimForFreeSlot(plan),
    })
    this.#slots = this.#shareSlots()
    this.#rounds = new ClaimRounds({
      ...shared,
      runner: this.#runner,
      slots: this.#slots,
      onProgress: () => this.#progress.made(),
      onLeft: () => {
        this.#moreDue = true
        this.#isCaughtUp = false
      },
    })
    this.#insertClaims = new InsertClaims({
      ...shared,
      returns: this.#returns,
      runner: this.#runner,
      scheduler: parts.scheduler ?? systemClock,
      isIdle: () => this.#isIdle,
    })
    measureLag(parts)
  }

  start(): void {
    if (this.#state !== 'new') return
    this.#state = 'started'
    this.#progress.made()
    const { database } = this.#parts
    this.#unsubscribe = [
      database.onSignal('event_queue', () => {
        if (this.#inFlight.count === 0) this.wake()
        else this.#wakeUps.in(gather)
      }),
      database.onSetBack(() => {
        this.#restored.restored(this.#runner.processing())
        // The database may have forgotten these claims. Those that it has are released before the next claim.
        this.#insertClaims.forget()
        this.#groups.clear()
        this.wake()
      }),
    ]
    this.#parts.store.claimInserts?.((events) => this.#insertClaims.choose(events))
    this.#wakeUps.start()
  }

  /** Looks for due work now. */
  wake(): void {
    this.#wakeUps.now()
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#state = 'stopped'
    this.#runner.stop()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#wakeUps.stop()
    const forget = whenAborted(deadline, () => this.#parts.aborts.abort(new Stopping()))
    await this.#wakeUps.ended()
    await this.#releaseQueued()
    // An insert that the database does not answer must not delay the stop.
    await Promise.race([this.#insertClaims.ended(), aborted(deadline)])
    await this.#releaseQueued()
    const sharedOut = this.#slots?.stop()
    await this.#inFlight.drained()
    await sharedOut
    forget()
    await this.#settleAtTheEnd()
    // Other processes take over what is still claimed.
    const isClean = !this.#unsettled.any && !this.#restored.any && !this.#insertClaims.any
    await this.#parts.store.releaseSession(isClean)
    await this.#parts.close()
  }

  sinceRound(): number {
    return this.#progress.age
  }

  oldestDue(): Promise<number | undefined> {
    return oldestWaiting(this.#parts)
  }

  /** Whether this process would claim new events at once. */
  get #isIdle(): boolean {
    const isSettled = !this.#restored.any && !this.#unsettled.any
    return this.#state === 'started' && this.#isCaughtUp && isSettled && this.#parts.pauses.isFresh
  }

  /** Repeats rounds until no more handlers can be started. */
  async #pass(): Promise<void> {
    this.#moreDue = false
    try {
      await this.#openSession()
      // Without a free slot there is no round, which would do it.
      await this.#unsettled.settle()
      await this.#restored.releaseUnknown(this.#parts.store, () => [
        ...this.#runner.processing(),
        ...this.#groups.allClaimed(),
      ])
      await this.#returnPaused()
      for (let idle = 0; this.#runner.free > 0 && this.#state === 'started';) {
        await this.#unsettled.settle()
        const { begun, more } = await this.#rounds.next()
        this.#progress.made()
        idle = begun > 0 ? 0 : idle + 1
        if (!more || idle >= mostIdleRounds) break
        // A pass over a backlog is long, and a handler may be paused meanwhile.
        await this.#returnPaused()
      }
      if (this.#runner.free <= 0) this.#moreDue = true
      this.#isCaughtUp = !this.#moreDue
      if (this.#moreDue) this.#callOthers()
      this.#progress.made()
      this.#wakeUps.in(pollInterval)
    } catch (error) {
      this.#moreDue = true
      this.#isCaughtUp = false
      this.#parts.log.warn({ err: error }, 'received events could not be claimed')
      this.#wakeUps.in(pauseAfterError)
    }
  }

  /** Returns the queued events of handlers that have been paused. Running ones are left to end. */
  async #returnPaused(): Promise<void> {
    const { pauses, clock } = this.#parts
    await pauses.refresh()
    const paused = this.#groups.withdrawHeld((plan) => pauses.holds(plan))
    this.#returns.releaseSoon(paused, clock.now())
  }

  #claimForFreeSlot(plan: Plan): void {
    // New events wake the worker by a signal.
    if (!this.#moreDue) return
    if (this.#groups.wantsMore(plan)) this.wake()
    else this.#wakeUps.in(gather)
  }

  /** Wakes other processes, which may have free slots. */
  #callOthers(): void {
    const now = this.#parts.clock.now()
    if (Math.abs(now - this.#calledAt) < callEvery) return
    this.#calledAt = now
    this.#parts.database.signalOthers('event_queue')
  }

  async #openSession(): Promise<void> {
    if (this.#hasSession) return
    await this.#parts.store.acquireSession({
      lost: () => {
        this.#rounds.sessionLost()
        this.#insertClaims.forget()
        // They are not released: the process that takes over the claims does that.
        this.#groups.clear()
        this.#slots?.forget()
        const reason = new Error('the session that holds the claims was lost')
        this.#parts.aborts.abortCurrent(new StorageUnavailable(reason))
      },
      freed: () => this.wake(),
    })
    this.#hasSession = true
  }

  #shareSlots(): HandlerSlots | undefined {
    const { store, clock, database, log } = this.#parts
    if (!store.slots) return undefined
    return new HandlerSlots({
      store: store.slots,
      clock,
      groups: this.#groups,
      onMore: () => {
        for (const plan of this.#groups.allWaiting()) this.#runner.startQueued(plan)
        this.wake()
      },
      onNone: (key) => this.#returns.releaseSoon(this.#groups.withdraw(key), clock.now()),
      onFreed: () => database.signal('event_queue'),
      onError: (error) =>
        log.warn({ err: error }, 'the slots of handlers with a concurrency could not be shared'),
    })
  }

  /** Gives back the events that are queued. */
  #releaseQueued(): Promise<void> {
    return this.#returns.release(this.#groups.clear(), this.#parts.clock.now())
  }

  async #settleAtTheEnd(): Promise<void> {
    try {
      await this.#unsettled.settle()
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'claimed events could not be given back')
    }
  }
}
