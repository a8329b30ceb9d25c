import type { Pool } from 'pg'
import { bounded } from './driver/statement.ts'

/** Tables that grow during operation, and that statements search for due work. */
const tables = [
  'attempts',
  'deliveries',
  'events',
  'event_queue',
  'idempotency_keys',
  'subscribers',
  'users',
] as const

/** Milliseconds to analyze one table. */
const longestAnalyze = 600_000

/** Fewer changed rows do not matter. */
const leastChanges = 1_000

/** Uses a function instead of the view, which reads all statistics of each table. Every process runs it every two seconds. */
const changedTables = `
  select c.relname as name from unnest($1::text[]) as t join pg_class c on c.oid = to_regclass(t)
  where pg_stat_get_mod_since_analyze(c.oid) > greatest(c.reltuples, ${leastChanges}) and pg_has_role(c.relowner, 'usage')
  order by c.relname`

/**
 * Analyzes tables in which more rows have changed since the last time than they had then, and returns their names. Until then, a
 * prepared statement keeps its plan: one that was made for an almost empty table reads all of the table for every batch.
 * Autovacuum runs only once a minute. Statements that use `seeks` do not need this. Skips tables that are being analyzed, and
 * those of other owners, for which the server would only warn.
 */
export async function analyzeChanged(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>({
    name: 'changed_tables',
    text: changedTables,
    values: [tables],
  })
  for (const { name } of rows) {
    // One round trip, with a longer limit than ordinary statements have.
    const text = `begin; set local statement_timeout = ${longestAnalyze}; analyze (skip_locked) "${name}"; commit`
    await pool.query(bounded(longestAnalyze, text))
  }
  return rows.map(({ name }) => name)
}
