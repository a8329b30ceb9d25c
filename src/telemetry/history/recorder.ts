import type { Clock } from '../../runtime/clock.ts'
import { periodicWorker, type Worker } from '../../runtime/worker.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { Durations, type Counts, Tallies, Tally } from './tally.ts'
import { type HistoryStore, hour, minute, type Period, retention, steps } from './store.ts'

/** Milliseconds after the end of a minute at which it is written. */
const afterMinute = 50
/** Minutes that wait in memory while the database is unavailable. Older ones are dropped. */
const mostWaiting = 60
/** Milliseconds between two roll-ups. */
const rollUpInterval = 10 * minute

/** `oldest_due` has no counts: its durations are the ages of the oldest due work, one of each minute and process. */
export const seriesNames = [
  'webhooks',
  'spooled',
  'handlers',
  'deliveries',
  'sign_ins',
  'oldest_due',
] as const
export type SeriesName = (typeof seriesNames)[number]

export const partSeries = (series: SeriesName, part: string): string => `${series}:${part}`

/** A counter of the process whose values the history records. */
interface RecordedCounter {
  readonly series: SeriesName
  /** The count that each outcome adds to; null if it is not recorded. */
  readonly outcomes?: Partial<Record<string, keyof Counts | null>>
  /** The count that all other outcomes add to. Absent: they are not recorded. */
  readonly others?: keyof Counts
  /** The label by which the series has parts. */
  readonly part?: string
}

/** The history takes its counts from the counters of `GET /metrics`, so that recording adds nothing to the work that it counts. */
const recordedCounters: Readonly<Record<string, RecordedCounter>> = {
  postern_webhooks_total: {
    series: 'webhooks',
    // A challenge of a sender (`answered`) is no webhook.
    outcomes: { accepted: 'ok', answered: null },
    others: 'failed',
    part: 'source',
  },
  postern_webhook_duplicates_total: { series: 'webhooks', others: 'duplicates' },
  postern_spool_webhooks_total: { series: 'spooled', outcomes: { stored: 'ok' }, others: 'failed' },
  postern_handler_attempts_total: {
    series: 'handlers',
    // Events that were given back or taken over run again, and are counted then.
    outcomes: { processed: 'ok', retry: 'failed', failed: 'failed' },
  },
  postern_delivery_attempts_total: { series: 'deliveries', outcomes: { delivered: 'ok' }, others: 'failed' },
  postern_sign_ins_total: { series: 'sign_ins', outcomes: { ok: 'ok' }, others: 'failed' },
}

interface RecorderParts {
  metrics: Metrics
  store: Pick<HistoryStore, 'addMinutes' | 'rows' | 'rollUp'>
  clock: Clock
  log: Log
  /** The age of the oldest due work in milliseconds; only in a process that has workers. */
  oldestDue?: (() => Promise<number>) | undefined
}

/**
 * Records what this process did, by the minute, and reads what all processes did. It reads the counters of the process once a minute
 * and adds what they have grown by to the table.
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
    await (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** The worker that rolls minutes up and deletes old rows. */
  rollUpWorker(): Worker {
    const { store, clock, log } = this.#parts
    return periodicWorker('metrics-history', clock, rollUpInterval, () =>
      store.rollUp(clock.now()).catch((error: unknown) => {
        log.debug({ err: error }, 'the history of metrics could not be rolled up; the next round tries again')
      }),
    )
  }

  /**
   * The tallies of some series in a period, one for each step. They include what this process has not written yet; what
   * other processes have not written is missing for up to a minute.
   * @param step seconds; `from` must be a multiple of it
   */
  async read(series: readonly string[], period: Period, step: number): Promise<Map<string, Tally[]>> {
    const width = step * 1000
    const count = Math.ceil((period.until - period.from) / width)
    const found = new Map(series.map((name) => [name, Array.from({ length: count }, () => new Tally())]))
    const at = (name: string, time: number) => found.get(name)?.[Math.floor((time - period.from) / width)]
    for (const row of await this.#readTable(series, period, step)) at(row.series, row.at)?.add(row)
    for (const { series: name, at: time, tally } of this.#waiting.entries()) at(name, time)?.add(tally)
    return found
  }

  /** The rows of the table. When it resolves, each count of this process is either among them or waits. */
  async #readTable(series: readonly string[], period: Period, step: number) {
    const { store } = this.#parts
    for (;;) {
      const writing = this.#writing
      await writing
      if (writing !== this.#writing) continue
      // Hours as far as they are written, and minutes from there on.
      const hours = step < steps.hour ? [] : await store.rows(steps.hour, series, period)
      const from = hours.reduce((border, row) => Math.max(border, row.at + hour), period.from)
      const minutes = await store.rows(steps.minute, series, { from, until: period.until })
      await this.#collect()
      // A write that began meanwhile may have moved counts to the table.
      if (writing === this.#writing) return [...hours, ...minutes]
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
    await this.flush()
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
      log.debug({ err: error, lost: mayBeWritten }, 'the history of metrics could not be written')
      // What may have been written would count twice.
      if (mayBeWritten) return
      const oldest = this.#minute - mostWaiting * minute
      for (const { series, at, tally } of tallies.entries())
        if (at >= oldest) this.#waiting.of(series, at).add(tally)
    }
  }

  /** Moves what was counted since the last time into `#waiting`. */
  async #collect(): Promise<void> {
    const { metrics, clock } = this.#parts
    const found = await Promise.all(
      Object.entries(recordedCounters).map(async ([counter, recorded]) => ({
        counter,
        recorded,
        values: (await metrics.registry.getSingleMetric(counter)?.get())?.values ?? [],
      })),
    )
    const at = this.#minute
    for (const { counter, recorded, values } of found) {
      const { series, outcomes = {}, others, part } = recorded
      for (const { labels, value } of values) {
        const outcome = String(labels['outcome'])
        const kind = outcomes[outcome] === undefined ? others : outcomes[outcome]
        const grown = kind && this.#grown(`${counter} ${JSON.stringify(labels)}`, value)
        if (!kind || !grown) continue
        this.#waiting.of(series, at)[kind] += grown
        if (part) this.#waiting.of(partSeries(series, String(labels[part])), at)[kind] += grown
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

function startOfMinute(time: number): number {
  return Math.floor(time / minute) * minute
}

/** Seconds between two points, from which a step is chosen. */
const choices = [60, 120, 300, 600, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 24 * 3_600] as const
/** Points of one answer. */
export const mostPoints = 240

/** The smallest step in seconds with at most 240 points whose retention covers the whole period. */
export function stepOf({ from, until }: Period, now: number): number {
  const least = now - from <= retention[steps.minute] ? steps.minute : steps.hour
  return (
    choices.find((step) => step >= least && (until - from) / (step * 1000) <= mostPoints) ?? choices.at(-1)!
  )
}
