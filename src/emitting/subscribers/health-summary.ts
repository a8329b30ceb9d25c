import type { SubscriberHoursTable } from '../../storage/tables.ts'

/** Upper bounds of the histogram's buckets, in milliseconds. The last is the longest time-out. */
export const durationClasses = [
  10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 300_000,
] as const

export function classOf(durationMs: number): number {
  return durationClasses.find((longest) => durationMs <= longest) ?? durationClasses.at(-1)!
}

/** Counts of attempts. The quantiles are upper bounds of buckets, in milliseconds. */
export interface Summary {
  delivered: number
  failed: number
  /** 0 to 1; `null` without attempts. */
  successRate: number | null
  p50: number | null
  p99: number | null
}

export interface HourSummary extends Summary {
  hour: number
}

export function summarize(rows: readonly SubscriberHoursTable[]): Summary {
  const sum = (count: (row: SubscriberHoursTable) => number): number =>
    rows.reduce((total, row) => total + count(row), 0)
  const delivered = sum((row) => row.delivered)
  const failed = sum((row) => row.failed)
  const all = delivered + failed
  return {
    delivered,
    failed,
    successRate: all === 0 ? null : delivered / all,
    p50: quantile(rows, all, 0.5),
    p99: quantile(rows, all, 0.99),
  }
}

/** One summary for each hour with attempts, oldest first. */
export function byHour(rows: readonly SubscriberHoursTable[]): HourSummary[] {
  return [...Map.groupBy(rows, (row) => row.hour)]
    .toSorted(([a], [b]) => a - b)
    .map(([hour, some]) => Object.assign({ hour }, summarize(some)))
}

function quantile(rows: readonly SubscriberHoursTable[], all: number, share: number): number | null {
  if (all === 0) return null
  let seen = 0
  for (const row of rows.toSorted((a, b) => a.duration_class - b.duration_class)) {
    seen += row.delivered + row.failed
    if (seen >= all * share) return row.duration_class
  }
  return null
}
