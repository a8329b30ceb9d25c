import { countOf, mostOfAKind, type Attention } from '../../http/attention.ts'
import { hour, minute, steps } from './rows.ts'
import type { HistoryStore } from './store.ts'

/** Milliseconds: what is recent, and what it is compared with. */
const recent = 15 * minute
const usual = 24 * hour
/** Refused webhooks of the recent time below which nothing is said. */
const fewest = 10
/** How many times the usual rate the recent one must have. */
const factor = 3

/** Sources of which more webhooks are refused in the last quarter of an hour than in the day before. */
export async function risingRefusals(store: HistoryStore, now: number): Promise<Attention[]> {
  const begins = now - recent
  const latest = await store.partRows(steps.minute, 'webhooks', { from: begins, until: now + 1 })
  const before = await store.partRows(steps.hour, 'webhooks', { from: begins - usual, until: begins })
  const sum = (rows: typeof latest) => {
    const sums = new Map<string, { failed: number; since: number }>()
    for (const { series, failed, at } of rows) {
      if (failed === 0) continue
      const known = sums.get(series) ?? { failed: 0, since: at }
      sums.set(series, { failed: known.failed + failed, since: Math.min(known.since, at) })
    }
    return sums
  }
  const rates = sum(before)
  return [...sum(latest)]
    .filter(([series, { failed }]) => {
      const expected = ((rates.get(series)?.failed ?? 0) * recent) / usual
      return failed >= fewest && failed >= factor * expected
    })
    .slice(0, mostOfAKind)
    .map(([series, { failed, since }]): Attention => {
      const id = series.slice(series.indexOf(':') + 1)
      return {
        kind: 'refusals-rising',
        severity: 'warning',
        text: `Source ${id} is rejecting more webhooks than usual: ${countOf(failed, 'webhook')} in the last 15 minutes.`,
        since,
        about: { topic: 'source', id },
      }
    })
}
