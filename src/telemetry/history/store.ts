import { sql } from 'kysely'
import { locks } from '../../storage/advisory-locks.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { Tallies } from './tally.ts'
import { countOf, mostOfAKind, type Attention } from '../../http/attention.ts'
import { isoTime } from '../../runtime/iso-time.ts'

export const minute = 60_000
export const hour = 60 * minute
/** The values of `step`, in seconds. Hours are rolled up from the minutes, so that a chart of a month reads few rows. */
export const steps = { minute: 60, hour: 3_600 } as const
/** Milliseconds after which the rows of each step are deleted. */
export const retention = { [steps.minute]: 48 * hour, [steps.hour]: 35 * 24 * hour } as const
/** Milliseconds that are rolled up again: a process may have added minutes late. */
const again = 2 * hour
/** Rows of one statement. */
const perStatement = 500

/** A period in milliseconds since 1970, `until` excluded. */
export interface Period {
  readonly from: number
  readonly until: number
}

/** The table of the history. */
export class HistoryStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Adds the minutes of a process to those of the others, in one transaction.
   * @param aboutToCommit called when only the commit is left: if that fails, it is unknown whether the counts were written.
   */
  async addMinutes(tallies: Tallies, aboutToCommit: () => void): Promise<void> {
    const sum = new Tallies()
    for (const { series, at, tally } of tallies.entries()) sum.of(series, at).add(tally)
    const times = sum.entries().map(({ at }) => at)
    const period = { from: Math.min(...times), until: Math.max(...times) + minute }
    await this.#write(async (tx) => {
      // Buckets are added here, not by the database, so two processes must not read the same row before either writes it.
      if (this.#database.engine === 'postgres')
        await sql`select pg_advisory_xact_lock(${locks.history[0]}, ${locks.history[1]})`.execute(tx)
      for (const row of await rowsOf(tx, steps.minute, period).execute())
        if (sum.has(row.series, row.at)) sum.of(row.series, row.at).add(row)
      await put(tx, steps.minute, sum)
      aboutToCommit()
    })
  }

  /** The rows of some series in a period. */
  rows(step: number, series: readonly string[], period: Period): Promise<Row<'metric_history'>[]> {
    return rowsOf(this.#database.slowReader, step, period)
      .where('series', 'in', [...series])
      .execute()
  }

  /** The rows of all parts of a series, such as the sources of `webhooks`, in a period. */
  partRows(step: number, series: string, period: Period): Promise<Row<'metric_history'>[]> {
    // The semicolon is the character after the colon.
    return rowsOf(this.#database.slowReader, step, period)
      .where('series', '>=', `${series}:`)
      .where('series', '<', `${series};`)
      .execute()
  }

  /** Whether a series has counts of successes. @param after only those after this time, in milliseconds since 1970 */
  async hasSucceeded(series: string, after = 0): Promise<boolean> {
    const row = await this.#database.reader
      .selectFrom('metric_history')
      .select('at')
      .where('step', 'in', Object.values(steps))
      .where('series', '=', series)
      .where('at', '>', after)
      .where('ok', '>', 0)
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  }

  /**
   * Writes the hours that have ended from their minutes, and deletes rows that are too old. Several processes may do it at once: each
   * hour is computed again each time, so a repetition changes nothing.
   */
  async rollUp(now: number): Promise<void> {
    const first = await this.#edge(steps.minute, 'asc')
    const last = await this.#edge(steps.hour, 'desc')
    if (first !== undefined)
      for (let at = startOfHour(Math.max(first, (last ?? 0) - again)); at + hour <= now; at += hour)
        await this.#rollUpHour(at)
    for (const step of Object.values(steps))
      await this.#deleteBefore(step, startOfHour(now - retention[step]))
  }

  async #rollUpHour(at: number): Promise<void> {
    const sum = new Tallies()
    const period = { from: at, until: at + hour }
    for (const row of await rowsOf(this.#database.slowReader, steps.minute, period).execute())
      sum.of(row.series, at).add(row)
    if (sum.size > 0) await this.#write((tx) => put(tx, steps.hour, sum))
  }

  /** Deletes an hour at a time: an hour that has lost some of its minutes must not be rolled up again. */
  async #deleteBefore(step: number, until: number): Promise<void> {
    for (;;) {
      const first = await this.#edge(step, 'asc')
      if (first === undefined || first >= until) return
      const end = startOfHour(first) + hour
      await this.#write((tx) =>
        tx.deleteFrom('metric_history').where('step', '=', step).where('at', '<', end).execute(),
      )
    }
  }

  /** The first or the last time of the rows of a step; undefined without rows. */
  async #edge(step: number, order: 'asc' | 'desc'): Promise<number | undefined> {
    const row = await this.#database.reader
      .selectFrom('metric_history')
      .select('at')
      .where('step', '=', step)
      .orderBy('at', order)
      .limit(1)
      .executeTakeFirst()
    return row?.at
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.inBackground(work)
  }
}

function startOfHour(time: number): number {
  return time - (time % hour)
}

function rowsOf(queryable: Queryable, step: number, { from, until }: Period) {
  return queryable
    .selectFrom('metric_history')
    .selectAll()
    .where('step', '=', step)
    .where('at', '>=', from)
    .where('at', '<', until)
}

/** Writes rows in place of those of the same series and times. */
async function put(tx: Tx, step: number, tallies: Tallies): Promise<void> {
  const rows = tallies.entries().map(({ series, at, tally }) => tally.toRow(step, series, at))
  // In one order, so that two processes cannot deadlock.
  rows.sort((one, other) => one.at - other.at || (one.series < other.series ? -1 : 1))
  for (let start = 0; start < rows.length; start += perStatement)
    await tx
      .insertInto('metric_history')
      .values(rows.slice(start, start + perStatement))
      .onConflict((conflict) =>
        conflict.columns(['step', 'series', 'at']).doUpdateSet((eb) => ({
          ok: eb.ref('excluded.ok'),
          failed: eb.ref('excluded.failed'),
          duplicates: eb.ref('excluded.duplicates'),
          durations: eb.ref('excluded.durations'),
        })),
      )
      .execute()
}

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
