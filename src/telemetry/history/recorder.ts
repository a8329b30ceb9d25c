import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { Durations } from './durations.ts'
import { minute, Tallies } from './rows.ts'
import { partSeries, recordedCounters, type SeriesName } from './series.ts'
import type { HistoryStore } from './store.ts'

/** Milliseconds after the end of a minute at which it is written. */
const afterMinute = 50
/** Minutes that wait in memory while the database is away. Older ones are dropped. */
const mostWaiting = 60

export interface RecorderParts {
  metrics: Metrics
  store: Pick<HistoryStore, 'addMinutes'>
  clock: Clock
  log: Log
  /** The age of the oldest due work in milliseconds; only in a process that has workers. */
  oldestDue?: (() => Promise<number>) | undefined
}

/**
 * Records what this process did, by the minute. It reads the counters of the process once a minute and adds what they have grown
 * by to the table.
 */
export class Recorder {
  readonly #parts: RecorderParts
  /** The values of the counters that were recorded already, by name and labels. */
  readonly #seen = new Map<string, number>()
  #waiting = new Tallies()
  /** The minute of what the counters have grown by since the last time. */
  #minute: number
  #cancel: (() => void) | undefined
  /** The last write. During it, its counts may be in the table or not. */
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: RecorderParts) {
    this.#parts = parts
    this.#minute = startOfMinute(parts.clock.now())
  }

  start(): void {
    const { clock } = this.#parts
    const now = clock.now()
    this.#cancel = clock.after(startOfMinute(now) + minute + afterMinute - now, () => {
      void this.#endMinute().then(() => {
        if (this.#cancel) this.start()
      })
    })
  }

  /** Writes what it has. To be called when the process counts no more. */
  async close(): Promise<void> {
    this.cancel()
    await this.flush()
  }

  /** Ends the recording without a write. */
  cancel(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** Writes all that was counted until now. Never rejects. */
  async flush(): Promise<void> {
    await this.#collect()
    await this.#writeSoon()
  }

  /**
   * Runs `read` and returns its result with what is not in the table yet. No count is in both.
   */
  async withUnwritten<T>(read: () => Promise<T>): Promise<{ read: T; unwritten: Tallies }> {
    for (;;) {
      const writing = this.#writing
      await writing
      if (writing !== this.#writing) continue
      const result = await read()
      await this.#collect()
      // A write that began meanwhile may have moved counts to the table.
      if (writing === this.#writing) return { read: result, unwritten: this.#waiting }
    }
  }

  async #endMinute(): Promise<void> {
    const { oldestDue, log } = this.#parts
    const at = this.#minute
    await this.#collect()
    try {
      const age = (await oldestDue?.()) ?? 0
      const durations = new Durations()
      durations.observe(age)
      if (age > 0) this.#waiting.of('oldest_due' satisfies SeriesName, at).addBuckets(durations.drain()!)
    } catch (error) {
      // The workers report that the database does not answer.
      log.debug({ err: error }, 'the age of the oldest due work could not be recorded')
    }
    await this.#writeSoon()
  }

  #writeSoon(): Promise<void> {
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  async #write(): Promise<void> {
    const { store, log } = this.#parts
    const tallies = this.#waiting
    if (tallies.size === 0) return
    this.#waiting = new Tallies()
    let mayBeWritten = false
    try {
      await store.addMinutes(tallies, () => (mayBeWritten = true))
    } catch (error) {
      // What may have been written would count twice.
      if (!mayBeWritten) this.#merge(tallies)
      log.debug({ err: error, lost: mayBeWritten }, 'the history of metrics could not be written')
    }
  }

  #merge(tallies: Tallies): void {
    const oldest = this.#minute - mostWaiting * minute
    for (const { series, at, tally } of tallies.entries())
      if (at >= oldest) this.#waiting.of(series, at).add(tally)
  }

  /** Moves what was counted since the last time into `#waiting`. */
  async #collect(): Promise<void> {
    const { metrics, clock } = this.#parts
    const found = await Promise.all(
      recordedCounters.map(async (recorded) => ({
        recorded,
        values: (await metrics.registry.getSingleMetric(recorded.counter)?.get())?.values ?? [],
      })),
    )
    const at = this.#minute
    for (const { recorded, values } of found) {
      for (const { labels, value } of values) {
        const kind = recorded.kindOf(labels)
        const grown = kind && this.#grown(`${recorded.counter} ${JSON.stringify(labels)}`, value)
        if (!kind || !grown) continue
        this.#waiting.of(recorded.series, at)[kind] += grown
        if (recorded.partOf)
          this.#waiting.of(partSeries(recorded.series, recorded.partOf(labels)), at)[kind] += grown
      }
    }
    for (const [series, durations] of Object.entries(metrics.durations)) {
      const buckets = durations.drain()
      if (buckets) this.#waiting.of(series, at).addBuckets(buckets)
    }
    this.#minute = startOfMinute(clock.now())
  }

  #grown(key: string, value: number): number {
    const before = this.#seen.get(key) ?? 0
    // Two collections at once may arrive in any order.
    if (value <= before) return 0
    this.#seen.set(key, value)
    return value - before
  }
}

export function startOfMinute(time: number): number {
  return Math.floor(time / minute) * minute
}
