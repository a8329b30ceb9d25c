import { systemClock } from '../../runtime/clock.ts'
import { type Worker, Progress, InFlight } from '../../runtime/worker.ts'
import { aborted, whenAborted } from '../../runtime/abort-broadcast.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { PlanOf, Plan } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import { Claims, RestoredClaims } from './claims.ts'
import { ClaimRounds } from './claim-rounds.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { EventRunner } from './event-runner.ts'
import { HandlerSlots } from './handler-slots.ts'
import { InsertClaims } from './insert-claims.ts'
import type { WorkerParts } from './worker-parts.ts'
import { Stopping } from './interruptions.ts'
import { gather, unhandledWait } from './timing.ts'
import { Suspects } from './suspects.ts'
import { WakeUps } from '../../runtime/repeated-pass.ts'
import { pagesOfKinds } from './due-kinds.ts'

/**
 * Claims due events and runs their handlers, from the first pass to the end of the last handler. It is fair: each round continues with
 * the next kinds of events, and no concurrency group gets more slots than its limit, or more than one when few slots are free.
 */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #groups: ConcurrencyGroups
  /** Where other processes run the same handlers. */
  readonly #slots: HandlerSlots | undefined
  readonly #wakeUps: WakeUps
  readonly #inFlight = new InFlight()
  readonly #restored = new RestoredClaims()
  readonly #claims: Claims
  readonly #runner: EventRunner
  readonly #suspects: Suspects
  readonly #rounds: ClaimRounds
  readonly #insertClaims: InsertClaims
  readonly #progress: Progress
  #hasSession = false
  #unsubscribe: (() => void)[] = []
  #state: 'new' | 'started' | 'stopped' = 'new'

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#wakeUps = new WakeUps(parts.clock, () => this.#rounds.run())
    this.#groups = new ConcurrencyGroups((bound) => (this.#slots ? this.#slots.allowed(bound) : bound.limit))
    this.#progress = new Progress(parts.clock)
    this.#claims = new Claims({ ...parts, inFlight: this.#inFlight, wakeUps: this.#wakeUps })
    const shared = {
      ...parts,
      claims: this.#claims,
      groups: this.#groups,
      inFlight: this.#inFlight,
      restored: this.#restored,
      wakeUps: this.#wakeUps,
      mayContinue: () => this.#state === 'started',
    }
    this.#runner = new EventRunner(shared, (plan) => this.#rounds.slotFreed(plan))
    const { shareSlots } = parts.store
    this.#slots = shareSlots && new HandlerSlots(shareSlots, { ...shared, runner: this.#runner })
    const running = { ...shared, runner: this.#runner, slots: this.#slots }
    this.#suspects = new Suspects({ ...running, withdrawAll: () => this.#withdrawAll() })
    this.#rounds = new ClaimRounds({
      ...running,
      suspects: this.#suspects,
      progress: this.#progress,
      openSession: () => this.#openSession(),
    })
    this.#insertClaims = new InsertClaims({
      ...running,
      suspects: this.#suspects,
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
        this.#claims.voidInFlight()
        this.#groups.withdraw()
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
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    const passEnded = this.#wakeUps.stop()
    const stopWatching = whenAborted(deadline, () => this.#parts.aborts.abort(new Stopping()))
    await passEnded
    // No claim is made from now on. The queued events are released at once, those of inserts in flight when they are answered.
    await this.#releaseQueued()
    // An insert that the database does not answer must not delay the stop.
    await Promise.race([this.#insertClaims.ended(), aborted(deadline)])
    // The events of an insert that is answered from now on are queued, but neither started nor released.
    const areInsertsAnswered = !this.#insertClaims.any
    await this.#releaseQueued()
    const sharedOut = this.#slots?.stop()
    await this.#inFlight.drained()
    await sharedOut
    stopWatching()
    await this.#claims.settle(true)
    // Otherwise other processes take over what is still claimed.
    const isClean = areInsertsAnswered && !this.#claims.anyUnsettled && !this.#restored.any
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
    const isSettled = !this.#restored.any && !this.#claims.anyUnsettled
    return this.#state === 'started' && this.#rounds.isCaughtUp && isSettled && this.#parts.pauses.isFresh
  }

  async #openSession(): Promise<void> {
    if (this.#hasSession) return
    await this.#parts.store.acquireSession({
      lost: () => {
        this.#claims.voidInFlight()
        // They are not released: the process that takes over the claims does that.
        this.#groups.withdraw()
        this.#slots?.forget()
        const reason = new Error('the session that holds the claims was lost')
        this.#runner.claimsLost(new StorageUnavailable(reason))
      },
      freed: () => {
        this.#suspects.found()
        this.wake()
      },
    })
    this.#hasSession = true
  }

  /** Releases the queued events. Returns whether an insert in flight may still claim some. */
  #withdrawAll(): boolean {
    this.#claims.releaseSoon(this.#groups.withdraw())
    return this.#insertClaims.any
  }

  /** Releases the queued events. */
  #releaseQueued(): Promise<void> {
    return this.#claims.release(this.#groups.withdraw())
  }
}

/** The most queries for reading all kinds. */
const mostPages = 100

/** Measures how long due events have waited, by group. */
function measureLag({ metrics, clock, store, planOf }: WorkerParts): void {
  metrics.gauge(
    'postern_handler_lag_seconds',
    'Age of the oldest event that is due, by source and handler',
    ['group'],
    async (gauge) => {
      gauge.reset()
      const now = clock.now()
      for (const [group, dueAt] of await oldestByGroup(store, planOf, now, { idle: false }))
        gauge.set({ group }, (now - dueAt) / 1000)
    },
  )
}

/** When the oldest event became due that no handler runs and that does not wait on purpose; undefined without one. */
async function oldestWaiting({ store, clock, planOf, pauses }: WorkerParts): Promise<number | undefined> {
  await pauses.refresh()
  const isPaused = (plan: Plan): boolean => pauses.isPaused(plan)
  const oldest = await oldestByGroup(store, planOf, clock.now(), { idle: true, isPaused })
  return oldest.size === 0 ? undefined : Math.min(...oldest.values())
}

/**
 * When the oldest event of each group became due.
 * @param options.idle leaves out groups with running handlers: a slow handler must not make the service count as not ready
 * @param options.isPaused leaves out plans whose events wait on purpose
 */
async function oldestByGroup(
  store: EventQueue,
  planOf: PlanOf,
  now: number,
  { idle, isPaused = () => false }: { idle: boolean; isPaused?: (plan: Plan) => boolean },
): Promise<Map<string, number>> {
  const oldest = new Map<string, number>()
  const atWork = new Set<string>()
  for await (const kinds of pagesOfKinds(store, now, mostPages)) {
    for (const { source, type, dueAt } of kinds) {
      const plan = planOf(source, type)
      const group = plan.group.key
      // Without a handler here, another process may have one: only afterwards does this process have to act.
      const since = plan.handlers.length > 0 ? dueAt : dueAt + unhandledWait
      if (since <= now && !isPaused(plan)) oldest.set(group, Math.min(since, oldest.get(group) ?? since))
    }
    if (idle) {
      for (const { source, type } of await store.kindsAtWork(kinds, now))
        atWork.add(planOf(source, type).group.key)
    }
  }
  for (const group of atWork) oldest.delete(group)
  return oldest
}
