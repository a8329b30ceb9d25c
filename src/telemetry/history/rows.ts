import type { MetricHistoryTable } from '../../storage/tables.ts'
import { addBuckets, bucketCount, type Buckets } from './durations.ts'
import { addEncoded, encodeBuckets } from './encoded-buckets.ts'
import type { Counts } from './series.ts'

export const minute = 60_000
export const hour = 60 * minute

/** The values of `step`, in seconds. Longer steps are rolled up from the minutes, so that a chart of a day reads few rows. */
export const steps = { minute: 60, tenMinutes: 600, hour: 3_600 } as const
export type RolledUp = (typeof steps)['tenMinutes' | 'hour']

/** Counts and durations of some time, to which those of other times can be added. */
export class Tally implements Counts {
  ok = 0
  failed = 0
  duplicates = 0
  buckets: Buckets | undefined

  /** Adds a row of the table. */
  addRow({ ok, failed, duplicates, durations }: Pick<MetricHistoryTable, keyof Counts | 'durations'>): void {
    this.ok += ok
    this.failed += failed
    this.duplicates += duplicates
    if (durations) addEncoded((this.buckets ??= new Float64Array(bucketCount)), durations)
  }

  add(other: Tally): void {
    this.ok += other.ok
    this.failed += other.failed
    this.duplicates += other.duplicates
    if (other.buckets) this.addBuckets(other.buckets)
  }

  addBuckets(buckets: Buckets): void {
    addBuckets((this.buckets ??= new Float64Array(bucketCount)), buckets)
  }

  toRow(step: number, series: string, at: number): MetricHistoryTable {
    const { ok, failed, duplicates, buckets } = this
    return { step, series, at, ok, failed, duplicates, durations: buckets ? encodeBuckets(buckets) : null }
  }
}

/** Tallies by series and time, in milliseconds. */
export class Tallies {
  readonly #bySeries = new Map<string, Map<number, Tally>>()

  get size(): number {
    return this.#bySeries.size
  }

  of(series: string, at: number): Tally {
    let times = this.#bySeries.get(series)
    if (!times) this.#bySeries.set(series, (times = new Map()))
    let tally = times.get(at)
    if (!tally) times.set(at, (tally = new Tally()))
    return tally
  }

  *entries(): Generator<{ series: string; at: number; tally: Tally }> {
    for (const [series, times] of this.#bySeries) for (const [at, tally] of times) yield { series, at, tally }
  }
}
