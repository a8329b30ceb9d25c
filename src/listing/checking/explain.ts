import type { Database, PostgresDatabase, SqliteDatabase } from '../../storage/database.ts'
import { planEach, planOne, seeksEach } from '../expansion.ts'
import { fieldOf, type Filter, type ListDeclaration, type AppliedFilter, operators } from '../list.ts'
import { planPage, type Plan } from '../plan.ts'
import { declaredQueries, rowAccessFields, sampleSettings } from './index-advice.ts'
import type { Settings } from '../standby-reader.ts'

export interface ExplainedQuery {
  /** The query string; empty for the list without parameters. */
  query: string
  /** The steps of the plan that read or sort. */
  steps: readonly string[]
}

/** Explains how the database reads a page after a key, for all declared queries, and how it reads all expansions. */
export async function explainList(database: Database, list: ListDeclaration): Promise<ExplainedQuery[]> {
  const { engine } = database
  const rows = list.limit.default + 1
  const conditions = rowAccessFields(list).map((field) =>
    sampleOf({ parameter: field, kind: 'equals', field, description: '' }),
  )
  const { single, pairs } = declaredQueries(list)
  const planned = [...single, ...pairs].map(({ query, filter, order }): Planned => {
    const filters = filter ? [...conditions, sampleOf(filter)] : conditions
    const plan = planPage({ list, filters, order, rows, from: 'key' }, engine)
    return { query, plan, ordered: !filter || (filter.kind === 'equals' && filter.member === undefined) }
  })
  for (const expansion of list.expand) {
    const from = expansion.from.map((name) => fieldOf(list, name))
    const plan = (seeksEach(expansion) ? planEach : planOne)(expansion, from, 1, engine)
    planned.push({ query: `expand=${expansion.name}`, plan, ordered: false })
  }
  return database.engine === 'sqlite'
    ? planned.map(({ query, plan }) => ({ query, steps: explainOnSqlite(database, plan) }))
    : explainOnPostgres(database, planned, sampleSettings(list))
}

interface Planned {
  query: string
  plan: Plan
  /** Whether a single index can return the rows in their order. */
  ordered: boolean
}

/** A filter with sample values; the plan depends only on their number. */
function sampleOf(filter: Filter): AppliedFilter {
  // The placeholders of a text are its bounds, or the text in two forms.
  const values = operators[filter.kind].takes === 'text' ? [null, null] : [null]
  return { filter, values, variant: filter.kind === 'null' ? 'null' : '' }
}

function explainOnSqlite({ readConnection }: SqliteDatabase, { sql, slots }: Plan): string[] {
  const rows = readConnection.all<{ detail: string }>(
    `explain query plan ${sql}`,
    slots.map(() => null),
  )
  return rows
    .map(({ detail }) => detail)
    .filter((detail) => /SEARCH|SCAN (?!postern_|\()|TEMP B-TREE/.test(detail))
}

async function explainOnPostgres(
  { pool }: PostgresDatabase,
  planned: readonly Planned[],
  settings: Settings,
): Promise<ExplainedQuery[]> {
  const client = await pool.connect()
  const explained: ExplainedQuery[] = []
  try {
    // PostgreSQL would scan a small table. The question is whether it can use an index when the table has grown.
    await client.query('begin')
    // Policies may fail without the settings that they read.
    for (const setting of settings) await client.query('select set_config($1, $2, true)', [...setting])
    await client.query('set local plan_cache_mode = force_generic_plan')
    await client.query('set local enable_seqscan = off')
    for (const { query, plan, ordered } of planned) {
      const { sql, slots } = plan
      // PostgreSQL would sort a few rows even if an index has their order.
      await client.query(`set local enable_sort = ${ordered ? 'off' : 'on'}`)
      await client.query(`prepare postern_explain as ${sql}`)
      const nulls = slots.length > 0 ? `(${slots.map(() => 'null').join(', ')})` : ''
      const { rows } = await client.query<Record<string, string>>(
        `explain (costs off) execute postern_explain${nulls}`,
      )
      await client.query('deallocate postern_explain')
      const lines = rows.map((row) => row['QUERY PLAN']!.replace(/^[\s>-]+/, ''))
      explained.push({
        query,
        steps: lines.filter((line) => /Scan |Scan$|^(?:Incremental )?Sort$/.test(line)),
      })
    }
    return explained
  } finally {
    // Closes the connection, and with it the settings and the prepared statement.
    client.release(true)
  }
}
