import { sleep, type Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { postgresRetention } from './store.postgres.ts'
import { sqliteRetention } from './store.sqlite.ts'
import type { RetainedTable, RetentionSteps, RetentionStore, Step } from './store.ts'

/** How long rows are kept, in milliseconds; Infinity for ever. */
export interface Periods {
  payloads: number
  markers: number
  rejected: number
}

export interface RetentionParts {
  store: RetentionStore
  clock: Clock
  log: Log
  metrics: Metrics
  periods: Periods
}

/** Milliseconds from the start to the first round, so that a start is about something else, and between two rounds. */
const firstRound = 60_000
const interval = 10 * 60_000
/** A step is followed by a pause of so many times its own duration, in which others write, and of so many milliseconds. */
const pauseShare = 3
const leastPause = 5

export function openRetentionStore(database: Database): RetentionStore {
  return database.engine === 'sqlite' ? sqliteRetention(database) : postgresRetention(database)
}

/** Removes what is older than it is to be kept, in short steps with pauses. */
export class RetentionWorker implements Worker {
  readonly name = 'retention'
  readonly #parts: RetentionParts
  readonly #removed
  readonly #stop = new AbortController()
  #cancel: (() => void) | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: RetentionParts) {
    this.#parts = parts
    this.#removed = parts.metrics.counter(
      'postern_retention_removed_total',
      'Rows removed because they were older than they are to be kept, by table',
      ['table'],
    )
  }

  start(): void {
    this.#schedule(firstRound)
  }

  /** Ends after the step that is under way. */
  async stop(): Promise<void> {
    this.#cancel?.()
    this.#stop.abort()
    await this.#running
  }

  /** Removes all that is old enough now. Returns the rows removed by table, or `undefined` when another process is at it. */
  async round(): Promise<Map<RetainedTable, number> | undefined> {
    const { store, clock, periods } = this.#parts
    const now = clock.now()
    // A repetition must be known as one for as long as the event itself is there.
    const markers = now - Math.max(periods.markers, periods.payloads)
    const total = new Map<RetainedTable, number>()
    const sweeps: readonly [until: number, keyof RetentionSteps][] = [
      [now - periods.payloads, 'removeEvents'],
      [markers, 'removeInboxMarkers'],
      [markers, 'removeOutboxMarkers'],
      [now - periods.rejected, 'removeRejected'],
      [now - periods.payloads, 'removeJobs'],
    ]
    const alone = await store.alone(async (steps) => {
      for (const [until, step] of sweeps)
        if (until > -Infinity) await this.#sweep((after) => steps[step](after, until), total)
    })
    return alone ? total : undefined
  }

  async #sweep(step: (after: number) => Promise<Step>, total: Map<RetainedTable, number>): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined && !this.#stop.signal.aborted;) {
      const began = performance.now()
      const { removed, next } = await step(after)
      for (const [name, count] of Object.entries(removed)) {
        if (count === 0) continue
        const table = name as RetainedTable
        this.#removed.inc({ table }, count)
        total.set(table, (total.get(table) ?? 0) + count)
      }
      after = next
      const pause = Math.max(leastPause, pauseShare * (performance.now() - began))
      // Stopped: the loop ends.
      if (next !== undefined) await sleep(this.#parts.clock, pause, this.#stop.signal).catch(() => undefined)
    }
  }

  #schedule(delay: number): void {
    this.#cancel = this.#parts.clock.after(delay, () => {
      this.#running = this.#loggedRound().then(() => {
        if (!this.#stop.signal.aborted) this.#schedule(interval)
      })
    })
  }

  async #loggedRound(): Promise<void> {
    const { log } = this.#parts
    try {
      const removed = await this.round()
      if (removed?.size)
        log.info({ removed: Object.fromEntries(removed) }, 'removed what is not kept any longer')
    } catch (error) {
      log.warn({ err: error }, 'could not remove what is not kept any longer')
    }
  }
}
