import { sleep, type Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { postgresRetention } from './store.postgres.ts'
import { sqliteRetention } from './store.sqlite.ts'
import type { RetainedTable, RetentionSteps, RetentionStore, Step } from './store.ts'

/** Retention periods in milliseconds; Infinity: never removed. */
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

/** Milliseconds from the start of the process to the first round, and between two rounds. */
const firstRound = 60_000
const interval = 10 * 60_000
/** The pause after a step is this multiple of the step's duration, but at least `leastPause` ms, so that others can write. */
const pauseShare = 3
const leastPause = 5

export function openRetentionStore(database: Database): RetentionStore {
  return database.engine === 'sqlite' ? sqliteRetention(database) : postgresRetention(database)
}

/** Removes rows after their retention period, in short steps with pauses. */
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
      'Rows removed because their retention has passed, by table',
      ['table'],
    )
  }

  start(): void {
    this.#schedule(firstRound)
  }

  /** Ends after the current step. */
  async stop(): Promise<void> {
    this.#cancel?.()
    this.#stop.abort()
    await this.#running
  }

  /** Removes all rows that are old enough. Returns the numbers by table, or `undefined` if another process does this now. */
  async round(): Promise<Map<RetainedTable, number> | undefined> {
    const { store, clock, periods } = this.#parts
    const now = clock.now()
    // Duplicates must be detected at least as long as the event itself is stored.
    const markers = now - Math.max(periods.markers, periods.payloads)
    const total = new Map<RetainedTable, number>()
    const sweeps: readonly [until: number, keyof RetentionSteps][] = [
      [now - periods.payloads, 'removeEvents'],
      [markers, 'removeProcessedMarkers'],
      [markers, 'removeIdempotencyKeys'],
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
        log.info({ removed: Object.fromEntries(removed) }, 'removed rows after their retention period')
    } catch (error) {
      log.warn({ err: error }, 'could not remove rows after their retention period')
    }
  }
}
