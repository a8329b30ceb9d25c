import type { Recorder } from './recorder.ts'
import { retention } from './roll-up.ts'
import { steps, Tally } from './rows.ts'
import type { HistoryStore, Period } from './store.ts'

export interface HistoryParts {
  store: HistoryStore
  recorder: Pick<Recorder, 'withUnwritten'>
}

/** Seconds between two points, from which a step is chosen. */
const choices = [60, 120, 300, 600, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 24 * 3_600] as const
/** Points of one answer. */
export const mostPoints = 240

/** The smallest step in seconds with at most 240 points whose retention covers the whole period. */
export function stepOf({ from, until }: Period, now: number): number {
  const age = now - from
  const least =
    age <= retention[steps.minute]
      ? steps.minute
      : age <= retention[steps.tenMinutes]
        ? steps.tenMinutes
        : steps.hour
  return (
    choices.find((step) => step >= least && (until - from) / (step * 1000) <= mostPoints) ?? choices.at(-1)!
  )
}

/**
 * The tallies of some series in a period, one for each step. They include what this process has not written yet; what
 * other processes have not written is missing for up to a minute.
 * @param step seconds; `from` must be a multiple of it
 */
export async function readHistory(
  { store, recorder }: HistoryParts,
  series: readonly string[],
  period: Period,
  step: number,
): Promise<Map<string, Tally[]>> {
  const { read: rows, unwritten } = await recorder.withUnwritten(() => readRows(store, series, period, step))
  const width = step * 1000
  const count = Math.ceil((period.until - period.from) / width)
  const found = new Map(series.map((name) => [name, Array.from({ length: count }, () => new Tally())]))
  const at = (name: string, time: number): Tally | undefined =>
    found.get(name)?.[Math.floor((time - period.from) / width)]
  for (const row of rows) at(row.series, row.at)?.addRow(row)
  for (const { series: name, at: time, tally } of unwritten.entries()) at(name, time)?.add(tally)
  return found
}

/** Rows of the longest step that fits, as far as they are written, and minutes from there on. */
async function readRows(store: HistoryStore, series: readonly string[], period: Period, step: number) {
  if (step < steps.tenMinutes) return store.rows(steps.minute, series, period)
  const rolled = step < steps.hour ? steps.tenMinutes : steps.hour
  const last = await store.edge(rolled, 'desc')
  const border = last === undefined ? period.from : Math.max(period.from, last + rolled * 1000)
  const rows = await store.rows(rolled, series, { from: period.from, until: Math.min(border, period.until) })
  return [...rows, ...(await store.rows(steps.minute, series, { from: border, until: period.until }))]
}
