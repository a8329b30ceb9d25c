import { countOf, mostOfAKind, type Attention } from '../../http/attention.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { type HistoryStore, hour, minute, steps } from './store.ts'

/** Milliseconds: what is recent, and what it is compared with. Of an outage, an hour counts: for so long, processes keep their counts. */
const recent = 15 * minute
const usual = 24 * hour
const outage = 60 * minute
/** Rejected webhooks of the recent time below which nothing is said. */
const fewest = 10
/** How many times the usual rate the recent one must have. */
const factor = 3

interface Sum {
  webhooks: number
  /** The first minute or hour of them. */
  since: number
}

/** Sums by series. Those without webhooks are left out. */
function sums<R extends { series: string; at: number }>(rows: readonly R[], webhooksOf: (row: R) => number) {
  const found = new Map<string, Sum>()
  for (const row of rows) {
    if (webhooksOf(row) === 0) continue
    const { webhooks, since } = found.get(row.series) ?? { webhooks: 0, since: row.at }
    found.set(row.series, { webhooks: webhooks + webhooksOf(row), since: Math.min(since, row.at) })
  }
  return found
}

/** Sources of which more webhooks are rejected in the last quarter of an hour than in the day before. */
export async function risingRefusals(store: HistoryStore, now: number): Promise<Attention[]> {
  const begins = now - recent
  const latest = await store.partRows(steps.minute, 'webhooks', { from: begins, until: now + 1 })
  const before = await store.partRows(steps.hour, 'webhooks', { from: begins - usual, until: begins })
  const usually = sums(before, ({ failed }) => failed)
  return [...sums(latest, ({ failed }) => failed)]
    .filter(([series, { webhooks }]) => {
      const expected = ((usually.get(series)?.webhooks ?? 0) * recent) / usual
      return webhooks >= fewest && webhooks >= factor * expected
    })
    .slice(0, mostOfAKind)
    .map(([series, { webhooks, since }]): Attention => {
      const id = series.slice(series.indexOf(':') + 1)
      const text = `Source ${id} is rejecting more webhooks than usual: ${countOf(webhooks, 'webhook')} in the last 15 minutes.`
      return { kind: 'refusals-rising', severity: 'warning', text, since, about: { topic: 'source', id } }
    })
}

/**
 * Webhooks that went to the spool, or that it did not take. A process without a database can notify nobody, so this reports them for a
 * quarter of an hour when the database is back, from what all processes counted meanwhile.
 */
export async function spooledWebhooks(store: HistoryStore, now: number): Promise<Attention[]> {
  const period = { from: now - recent - outage, until: now + 1 }
  const rows = await store.rows(steps.minute, ['spooled'], period)
  const last = Math.max(...rows.map(({ at }) => at))
  if (last < now - recent) return []
  const until = `${isoTime(last + minute).slice(11, 16)} UTC`
  const report = (kind: 'spooling' | 'spool-full', sum: Sum | undefined, happened: string, got: string) =>
    (sum ? [sum] : []).map(({ webhooks, since }): Attention => {
      const text = `The database was unavailable${happened}: ${countOf(webhooks, 'webhook')} ${got} until ${until}.`
      return { kind, severity: 'error', text, since, about: { topic: 'spool', id: 'spool' } }
    })
  const [stored, refused] = [sums(rows, ({ ok }) => ok), sums(rows, ({ failed }) => failed)]
  return [
    ...report('spooling', stored.get('spooled'), '', 'went to the spool'),
    ...report(
      'spool-full',
      refused.get('spooled'),
      ' and the spool was full or did not respond',
      'got HTTP 503',
    ),
  ]
}
