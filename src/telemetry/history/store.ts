import { sql } from 'kysely'
import { historyLock } from '../../storage/advisory-locks.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { MetricHistoryTable } from '../../storage/tables.ts'
import { steps, Tallies, type RolledUp } from './rows.ts'

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
    await this.#database.transaction(
      async (tx) => {
        // Buckets are added here, not by the database, so two processes must not read the same row before either writes it.
        if (this.#database.engine === 'postgres')
          await sql`select pg_advisory_xact_lock(${historyLock[0]}::int, ${historyLock[1]}::int)`.execute(tx)
        const entries = [...tallies.entries()]
        for (let start = 0; start < entries.length; start += perStatement) {
          const some = entries.slice(start, start + perStatement)
          const sum = new Tallies()
          for (const { series, at, tally } of some) sum.of(series, at).add(tally)
          const present = await tx
            .selectFrom('metric_history')
            .selectAll()
            .where('step', '=', steps.minute)
            .where('series', 'in', [...new Set(some.map(({ series }) => series))])
            .where('at', 'in', [...new Set(some.map(({ at }) => at))])
            .execute()
          const wanted = new Set(some.map(keyOf))
          for (const row of present) if (wanted.has(keyOf(row))) sum.of(row.series, row.at).addRow(row)
          await put(tx, steps.minute, sum)
        }
        aboutToCommit()
      },
      { priority: 'work' },
    )
  }

  /** The rows of some series in a period. A part of a series is named in `series`. */
  rows(step: number, series: readonly string[], { from, until }: Period): Promise<MetricHistoryTable[]> {
    return this.#database.readerAside
      .selectFrom('metric_history')
      .selectAll()
      .where('step', '=', step)
      .where('series', 'in', [...series])
      .where('at', '>=', from)
      .where('at', '<', until)
      .execute()
  }

  /** The rows of all parts of a series, such as the sources of `webhooks`, in a period. */
  partRows(step: number, series: string, { from, until }: Period): Promise<MetricHistoryTable[]> {
    return (
      this.#database.readerAside
        .selectFrom('metric_history')
        .selectAll()
        .where('step', '=', step)
        .where('series', '>=', `${series}:`)
        // The character after the colon.
        .where('series', '<', `${series};`)
        .where('at', '>=', from)
        .where('at', '<', until)
        .execute()
    )
  }

  /** Whether a series has counts of successes. @param after only those after this time, in milliseconds since 1970 */
  async hasSucceeded(series: string, after = 0): Promise<boolean> {
    for (const step of Object.values(steps)) {
      const row = await this.#database.reader
        .selectFrom('metric_history')
        .select('at')
        .where('step', '=', step)
        .where('series', '=', series)
        .where('at', '>', after)
        .where('ok', '>', 0)
        .limit(1)
        .executeTakeFirst()
      if (row) return true
    }
    return false
  }

  /** The first or the last time of the rows of a step; undefined without rows. */
  async edge(step: number, order: 'asc' | 'desc'): Promise<number | undefined> {
    const row = await this.#database.reader
      .selectFrom('metric_history')
      .select('at')
      .where('step', '=', step)
      .orderBy('at', order)
      .limit(1)
      .executeTakeFirst()
    return row?.at
  }

  /**
   * Writes the rows of a longer step from the minutes of a period, which begins and ends with the step. It may be repeated: it
   * replaces what was there.
   */
  async rollUp(step: RolledUp, { from, until }: Period): Promise<void> {
    const width = step * 1000
    const rows = await this.#database.readerAside
      .selectFrom('metric_history')
      .selectAll()
      .where('step', '=', steps.minute)
      .where('at', '>=', from)
      .where('at', '<', until)
      .execute()
    const sums = new Tallies()
    for (const row of rows) sums.of(row.series, row.at - (row.at % width)).addRow(row)
    if (sums.size > 0) await this.replace(step, sums)
  }

  /** Writes rows in place of those of the same series and times. */
  async replace(step: number, tallies: Tallies): Promise<void> {
    await this.#database.transaction((tx) => put(tx, step, tallies), { priority: 'work' })
  }

  /** Deletes a portion of the rows of a step from before `until`. Returns whether more may be there. */
  async deleteBefore(step: number, until: number): Promise<boolean> {
    const oldest = await this.#database.reader
      .selectFrom('metric_history')
      .select('at')
      .where('step', '=', step)
      .where('at', '<', until)
      .orderBy('at')
      .limit(perStatement)
      .execute()
    const last = oldest.at(-1)
    if (!last) return false
    await this.#database.transaction(
      (tx) => tx.deleteFrom('metric_history').where('step', '=', step).where('at', '<=', last.at).execute(),
      { priority: 'work' },
    )
    return oldest.length === perStatement
  }
}

function keyOf({ series, at }: { series: string; at: number }): string {
  return `${at} ${series}`
}

async function put(tx: Tx, step: number, tallies: Tallies): Promise<void> {
  const rows = [...tallies.entries()].map(({ series, at, tally }) => tally.toRow(step, series, at))
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
