import type { Tx } from '../../storage/database.ts'
import type { Plan } from '../handlers/plan.ts'
import { type ClaimedEvent, readClaimed } from '../queue/store.ts'
import type { EventRunner } from './event-runner.ts'
import { mostCrashes, ProcessEnded, recordFailure } from './failures.ts'
import type { HandlerSlots } from './handler-slots.ts'
import { leaseMargin, ownWork, unhandledWait } from './timing.ts'
import type { WorkerContext } from './worker-parts.ts'

/** Suspects that one query reads. */
const perPage = 100
/** Milliseconds between two searches for suspects that another process found and released. */
const lookEvery = 1_000

/** A row of a suspect that no process runs. Times in milliseconds since 1970. */
interface Suspect {
  readonly event: number
  readonly source: string
  readonly type: string
  readonly dueAt: number
  readonly crashes: number
  readonly claim: string | null
  readonly aloneAt: number | null
}

interface SuspectsParts extends WorkerContext {
  runner: EventRunner
  /** Where other processes run the same handlers. */
  slots: HandlerSlots | undefined
  /** Releases all queued events. Returns whether an insert in flight may still claim some. */
  withdrawAll: () => boolean
}

/**
 * Runs the events that a process had claimed when it ended, since one of them may have ended it: one at a time in each process, beside
 * events that came later. `alone_at` is stored before the handlers start. If the process ends again, the event that it ran alone gets a
 * failure, and its next run waits as after any failure. Its last run has the process for itself, so that no other event can be the cause.
 */
export class Suspects {
  readonly #parts: SuspectsParts
  /** When to look for suspects, in milliseconds since 1970. */
  #lookAt = -Infinity
  #isRunning = false
  #isReported = false
  /** The plan of the suspect that waits for a slot, or for the whole process. */
  #waiting: Waiting | undefined

  constructor(parts: SuspectsParts) {
    this.#parts = parts
  }

  /** Whether a suspect waits for the end of other events. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined && !this.#isRunning
  }

  /** Whether an event of the plan must not be claimed now, because a suspect needs its slot or the whole process. */
  excludes({ group, bounds }: Plan): boolean {
    if (!this.#waiting) return false
    const { plan, wholeProcess } = this.#waiting
    if (wholeProcess) return true
    const isShared = plan.bounds.some(({ key }) => bounds.some((bound) => bound.key === key))
    return !this.#isRunning && (isShared || plan.group.key === group.key)
  }

  /** Makes the next pass look for suspects. */
  found(): void {
    this.#lookAt = -Infinity
  }

  /** Starts the next suspect, if this process runs none. @throws StorageUnavailable */
  async next(): Promise<void> {
    const now = this.#parts.clock.now()
    if (this.#isRunning) return
    const mayLook = now >= this.#lookAt || this.#lookAt - now > lookEvery
    if (!mayLook && !(this.#waiting && this.#hasRoom(this.#waiting))) return
    // For those that the take-over of another process found.
    this.#lookAt = now + lookEvery
    try {
      const chosen = await this.#choose(now)
      if (!chosen) return
      if (chosen.ended === undefined) this.#start(chosen, now)
      else await this.#record(chosen, chosen.ended, now)
    } catch (error) {
      this.found()
      throw error
    }
  }

  #start({ claimed, plan }: Chosen, now: number): void {
    const { claims, mayContinue, runner, wakeUps } = this.#parts
    if (!mayContinue()) return claims.releaseSoon([claimed])
    this.#isRunning = true
    runner.startAlone({ claimed, plan, claimedAt: now, alone: true }, () => {
      this.#isRunning = false
      this.#waiting = undefined
      this.found()
      wakeUps.now()
    })
  }

  /** Records that a process ended while it ran the event alone. */
  async #record({ claimed, plan }: Chosen, ended: ProcessEnd, now: number): Promise<void> {
    const { log, onFailed, wakeUps } = this.#parts
    const { event, source, type, attempts: attempt } = claimed
    const handlers = plan.handlers.map(({ id }) => id)
    const error = new ProcessEnded(ended.crashes + 1, handlers.join(', '))
    const failure = { claimed, error, startedAt: ended.startedAt, now, handler: handlers[0] ?? '' }
    this.found()
    wakeUps.now()
    const outcome = await recordFailure(this.#parts, failure)
    if (outcome === 'lost') return
    onFailed?.(failure.handler)
    const line = { err: error, event, source, type, handlers, attempt, outcome }
    if (outcome === 'failed') log.error(line, 'an event failed because the process ended each time it ran')
    else log.warn(line, 'the process ended while it was running this event alone')
  }

  /** Claims the first suspect that this process may run now, or one whose process ended during its run. */
  async #choose(now: number): Promise<Chosen | undefined> {
    const { claims, database, store, wakeUps } = this.#parts
    const claim = store.newClaim()
    const { voided } = claims
    let chosen: Chosen | undefined
    let waiting: Waiting | undefined
    // There are rarely any, and this read takes no write lock.
    const first = await readSuspects(database.reader, now, undefined)
    this.#report(first.length)
    if (first.length === 0) {
      this.#waiting = undefined
      return undefined
    }
    try {
      await database.transaction(async (tx) => {
        chosen = waiting = undefined
        for await (const one of allSuspects(tx, now)) {
          const found = await this.#claim(tx, one, claim, now)
          if (found === 'waits' || (found && !found.ended && isLastRun(one)))
            waiting ??= { plan: this.#planOf(one), wholeProcess: isLastRun(one) }
          if (found && found !== 'waits') chosen = found
          if (chosen || waiting?.wholeProcess) break
        }
      }, ownWork)
    } catch (error) {
      if (chosen) claims.unanswered({ claim, events: [chosen.claimed] })
      throw error
    }
    // The next pass finds the process without other events, or the end of the last one wakes it.
    if (waiting && !this.#waiting) wakeUps.now()
    this.#waiting = waiting
    if (!chosen || voided === claims.voided) return chosen
    claims.unanswered({ claim, events: [chosen.claimed] })
    return undefined
  }

  async #claim(tx: Tx, one: Suspect, claim: string, now: number): Promise<Chosen | 'waits' | undefined> {
    const { pauses, slots, wakeUps } = this.#parts
    const plan = this.#planOf(one)
    if (plan.handlers.length === 0) {
      // No code runs for it: it is marked as other events without a handler are.
      if (one.dueAt <= now - unhandledWait) await clearSuspicion(tx, one)
      return undefined
    }
    if (one.claim === null && one.aloneAt !== null) {
      const claimed = await claimSuspect(tx, one, { claim, until: now + leaseMargin, aloneAt: one.aloneAt })
      return claimed && { claimed, plan, ended: { startedAt: one.aloneAt, crashes: one.crashes } }
    }
    if (one.dueAt > now) {
      this.#lookAt = Math.min(this.#lookAt, one.dueAt)
      if (one.dueAt - now < lookEvery) wakeUps.in(one.dueAt - now)
      return undefined
    }
    if (pauses.isPaused(plan)) return undefined
    slots?.request(plan)
    const wholeProcess = isLastRun(one)
    // Until the process is kept for it, other events may still be claimed.
    if (wholeProcess && !this.#waiting?.wholeProcess) return 'waits'
    if (!this.#hasRoom({ plan, wholeProcess })) return 'waits'
    const claimed = await claimSuspect(tx, one, {
      claim,
      until: now + plan.timeout + leaseMargin,
      aloneAt: now,
    })
    return claimed && { claimed, plan }
  }

  #planOf({ source, type }: Suspect): Plan {
    return this.#parts.planOf(source, type)
  }

  #hasRoom({ plan, wholeProcess }: Waiting): boolean {
    const { groups, runner, withdrawAll } = this.#parts
    if (!wholeProcess) return groups.room(plan, false) > 0
    const mayBeClaimed = withdrawAll()
    return runner.isIdle && !mayBeClaimed && groups.room(plan, false) > 0
  }

  #report(events: number): void {
    if (events > 0 && !this.#isReported)
      this.#parts.log.warn(
        { events },
        'a process ended before it finished the events that it had claimed: they run one at a time',
      )
    this.#isReported = events > 0
  }
}

/** What waits for a slot of its plan or, before its last run, for the end of all else in this process. */
interface Waiting {
  readonly plan: Plan
  readonly wholeProcess: boolean
}

interface Chosen {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** Its process ended while it ran the event alone: nothing is run, that is recorded. */
  readonly ended?: ProcessEnd
}

interface ProcessEnd {
  readonly startedAt: number
  /** How often it was recorded before. */
  readonly crashes: number
}

const isLastRun = ({ crashes }: Suspect): boolean => crashes >= mostCrashes - 1

/** The suspects that no process runs, those first that became due first. */
function readSuspects(
  db: Pick<Tx, 'selectFrom'>,
  now: number,
  after: Suspect | undefined,
): Promise<Suspect[]> {
  return db
    .selectFrom('event_queue')
    .select(['event', 'source', 'type', 'due_at as dueAt', 'claim', 'alone_at as aloneAt', 'crashes'])
    .where('status', '=', 'pending')
    .where('crashes', 'is not', null)
    .where((eb) => eb.or([eb('claim', 'is', null), eb('leased_until', '<=', now)]))
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb.or([
          eb('due_at', '>', after!.dueAt),
          eb.and([eb('due_at', '=', after!.dueAt), eb('event', '>', after!.event)]),
        ]),
      ),
    )
    .orderBy('due_at')
    .orderBy('event')
    .limit(perPage)
    .$narrowType<{ crashes: number }>()
    .execute()
}

/** All of them, read in pages. */
async function* allSuspects(tx: Tx, now: number): AsyncGenerator<Suspect> {
  let page: Suspect[] = []
  do {
    page = await readSuspects(tx, now, page.at(-1))
    yield* page
  } while (page.length === perPage)
}

async function clearSuspicion(tx: Tx, { event }: Suspect): Promise<void> {
  await tx
    .updateTable('event_queue')
    .set({ crashes: null, alone_at: null })
    .where('event', '=', event)
    .execute()
}

/** Claims a suspect, unless another process has done so since it was read. */
async function claimSuspect(
  tx: Tx,
  { event, claim: before, aloneAt: aloneBefore }: Suspect,
  { claim, until, aloneAt }: { claim: string; until: number; aloneAt: number },
): Promise<ClaimedEvent | undefined> {
  const { numUpdatedRows } = await tx
    .updateTable('event_queue')
    .set({ claim, leased_until: until, alone_at: aloneAt })
    .where('event', '=', event)
    .where('status', '=', 'pending')
    .where('crashes', 'is not', null)
    .where('claim', before === null ? 'is' : '=', before)
    .where('alone_at', aloneBefore === null ? 'is' : '=', aloneBefore)
    .executeTakeFirst()
  return numUpdatedRows === 0n ? undefined : readClaimed(tx, event, claim)
}
