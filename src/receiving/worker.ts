import { randomUUID } from 'node:crypto'
import type { Random } from '../clock.ts'
import type { Worker } from '../http/room.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { attempt, type AttemptParts } from './attempt.ts'
import type { Handler } from './config.ts'
import { giveBack, recordFailure } from './failures.ts'
import type { ClaimedEvent } from './store.ts'

export interface WorkerParts extends AttemptParts {
  random: Random
  metrics: Metrics
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  handlersOf: (source: string, type: string) => readonly Handler[]
  /** Closes what handlers use, after the last of them. */
  close: () => Promise<void>
}

/** Events that are worked on at once. */
const concurrency = 8
/** How long a lease outlives the handler's time: the commit and a slow clock. */
const leaseMargin = 5_000
/** Looks for due work at least this often, in milliseconds: signals may get lost. */
const pollInterval = 1_000
/** While the database is away. */
const pauseAfterError = 1_000
/** How long a few free places wait for more, so that one claim serves several. */
const gather = 5

/** Attempts beyond the schedule that may end without a trace, by the end of their process, before the event is failed. */
const mostCrashes = 10

class Stopping extends Error {
  constructor() {
    super('the service is stopping')
    this.name = 'Stopping'
  }
}

/** Claims due events and runs their handlers, a few at once. */
export class HandlerWorker implements Worker {
  readonly name = 'handlers'
  readonly #parts: WorkerParts
  readonly #stop = new AbortController()
  readonly #running = new Set<Promise<void>>()
  readonly #attempts
  #claiming: Promise<void> | undefined
  #again = false
  #started = false
  #recovered = false
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
  }

  start(): void {
    if (this.#started) return
    this.#started = true
    this.#offSignal = this.#parts.database.onSignal('inbox', () => this.wake())
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
    await this.#parts.close()
  }

  async oldestDue(): Promise<number | undefined> {
    const row = await this.#parts.database.reader
      .selectFrom('inbox')
      .select((eb) => eb.fn.min('due_at').as('oldest'))
      .where('status', '=', 'pending')
      .executeTakeFirst()
    const oldest = row?.oldest ?? undefined
    return oldest !== undefined && oldest <= this.#parts.clock.now() ? oldest : undefined
  }

  async #fill(): Promise<void> {
    try {
      await this.#recover()
      for (;;) {
        const free = concurrency - this.#running.size
        if (free <= 0 || this.#stopped) return
        if ((await this.#claim(free)) < free) break
      }
      this.#wakeIn(pollInterval)
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'received events could not be claimed')
      this.#wakeIn(pauseAfterError)
    }
  }

  async #recover(): Promise<void> {
    if (this.#recovered) return
    await this.#parts.store.recover(this.#parts.clock.now())
    this.#recovered = true
  }

  async #claim(limit: number): Promise<number> {
    const { store, clock, timeout } = this.#parts
    const claim = randomUUID()
    const now = clock.now()
    const claimed = await store.claim({ claim, now, until: now + timeout + leaseMargin, limit })
    for (const one of claimed) this.#run(one, claim)
    return claimed.length
  }

  #run(claimed: ClaimedEvent, claim: string): void {
    const run = this.#process(claimed, claim)
      .then((outcome) => this.#attempts.inc({ outcome }))
      // The lease ends by itself, and somebody tries again.
      .catch((error: unknown) =>
        this.#parts.log.error(
          { err: error, event: claimed.event },
          'a received event could not be dealt with',
        ),
      )
      .finally(() => {
        this.#running.delete(run)
        if (this.#running.size <= concurrency / 2) this.wake()
        else this.#wakeIn(gather)
      })
    this.#running.add(run)
  }

  async #process(claimed: ClaimedEvent, claim: string): Promise<string> {
    const { database, clock, log, schedule, random, handlersOf } = this.#parts
    const { event, source, type } = claimed
    const startedAt = clock.now()
    try {
      if (claimed.attempts - claimed.attemptsBefore > schedule.length + mostCrashes) {
        throw new Error('the process ended during too many attempts to handle this event')
      }
      return await attempt(claimed, claim, handlersOf(source, type), this.#stop.signal, this.#parts)
    } catch (error) {
      const now = clock.now()
      if (error instanceof Stopping || error instanceof StorageUnavailable) {
        // Not the handler's fault: the attempt does not count. When the database is away this fails too, and the lease ends by itself.
        await giveBack(database, [event], claim, error instanceof Stopping ? now : now + pauseAfterError)
        return 'given-back'
      }
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
