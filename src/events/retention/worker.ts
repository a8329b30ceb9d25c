import { sleep } from '../../runtime/clock.ts'
import { periodicWorker, type PeriodicWorker, type Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import { postgresRetention } from './store.postgres.ts'
import { sqliteRetention } from './store.sqlite.ts'
import type { RetainedTable, RetentionSteps, RetentionStore, Step } from './store.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Retention periods in milliseconds; Infinity: never removed. */
export interface Periods {
  payloads: number
  markers: number
  rejected: number
}

interface RetentionParts extends Pick<ModuleParts, 'clock' | 'log' | 'metrics'> {
  store: RetentionStore
  periods: Periods
}

/** Milliseconds from the start of the process to the first round, and between two rounds. */
const firstRound = 60_000
const interval = 10 * 60_000
/** Milliseconds for which a request with an Idempotency-Key gets the same response. */
const responseRetention = 12 * 3_600_000
/** The pause after a step is this multiple of the step's duration, but at least `leastPause` ms, so that others can write. */
const pauseShare = 3
const leastPause = 5
/** Milliseconds after a sweep that failed, in which the server notices that its session was closed, and releases its lock. */
const pauseAfterFailure = 1_000

export function openRetentionStore(database: Database): RetentionStore {
  return database.engine === 'sqlite' ? sqliteRetention(database) : postgresRetention(database)
}

/** Removes rows after their retention period, in short steps with pauses. */
export class RetentionWorker implements Worker {
  readonly name = 'retention'
  readonly #parts: RetentionParts
  readonly #removed
  readonly #stop = new AbortController()
  readonly #rounds: PeriodicWorker

  constructor(parts: RetentionParts) {
    this.#parts = parts
    this.#removed = parts.metrics.counter(
      'postern_retention_removed_total',
      'Rows removed because their retention has passed, by table',
      ['table'],
    )
    this.#rounds = periodicWorker(this.name, parts.clock, interval, () => this.#loggedRound(), firstRound)
  }

  start(): void {
    this.#rounds.start()
  }

  /** Ends after the current step. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#rounds.stop()
  }

  /**
   * Removes all rows that are old enough. Returns the numbers by table, or `undefined` if another process does this now.
   * @param total to which the numbers are added, also if it fails
   * @throws the error of the first sweep that failed, after the others have run
   */
  async round(
    total = new Map<RetainedTable, number>(),
  ): Promise<ReadonlyMap<RetainedTable, number> | undefined> {
    const { store, clock, periods } = this.#parts
    const now = clock.now()
    // Duplicates must be detected at least as long as the event itself is stored.
    const markers = now - Math.max(periods.markers, periods.payloads)
    const sweeps: readonly [until: number, keyof RetentionSteps][] = [
      [now - periods.payloads, 'removeEvents'],
      [markers, 'removeProcessedMarkers'],
      [markers, 'removeIdempotencyKeys'],
      [now - periods.rejected, 'removeRejected'],
      [markers, 'removeOwners'],
      [now - periods.payloads, 'removeJobs'],
      [now - responseRetention, 'removeResponses'],
    ]
    const failures: unknown[] = []
    let alone = true
    for (const [until, step] of sweeps) {
      if (until === -Infinity || this.#stop.signal.aborted) continue
      try {
        // Each sweep has a session of its own, because a failure may have closed that of the sweep before.
        const ran = await store.alone((steps) => this.#sweep((after) => steps[step](after, until), total))
        alone &&= ran
      } catch (error) {
        failures.push(error)
        // Stopped: the loop ends.
        await sleep(clock, pauseAfterFailure, this.#stop.signal).catch(() => undefined)
      }
    }
    if (failures.length > 0) throw failures[0]
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

  async #loggedRound(): Promise<void> {
    const { log } = this.#parts
    const removed = new Map<RetainedTable, number>()
    const failure = await this.round(removed).then(
      () => undefined,
      (error: unknown) => ({ err: error }),
    )
    if (removed.size > 0)
      log.info({ removed: Object.fromEntries(removed) }, 'removed rows after their retention period')
    if (failure) log.warn(failure, 'could not remove rows after their retention period')
  }
}
