import type { Database } from '../../storage/database.ts'
import { planMany, planOne } from '../expansion-plan.ts'
import { fieldOf, type FilterKind, type ListDeclaration } from '../list.ts'
import { planPage, type Plan } from '../plan.ts'
import { wantedIndexes, type WantedIndex } from './index-advice.ts'
import type { AppliedFilter } from '../filters.ts'

export interface ExplainedQuery {
  /** As a query string; empty for the list as it is. */
  query: string
  /** The steps of the plan that read or sort. */
  steps: readonly string[]
}

/** How the database would seek a later page of every declared order and by every filter, and read every expansion. */
export async function explainList(database: Database, list: ListDeclaration): Promise<ExplainedQuery[]> {
  const { engine } = database
  const rows = list.limit.default + 1
  const explained: ExplainedQuery[] = []
  const explainQuery = async (query: string, plan: Plan): Promise<void> => {
    explained.push({ query, steps: await explain(database, plan) })
  }
  const wanted = wantedIndexes(list)
  for (const { query, order, equal } of wanted) {
    const filters = equal.map((column) => equalsAnything(list, column))
    await explainQuery(query, planPage({ list, filters, order, rows, from: 'key' }, engine))
  }
  const [{ order, equal }] = wanted as [WantedIndex]
  for (const filter of list.filters.filter(({ kind }) => kind !== 'equals')) {
    const filters = [
      ...equal.map((column) => equalsAnything(list, column)),
      { filter, ...anything[filter.kind] },
    ]
    await explainQuery(`${filter.parameter}=…`, planPage({ list, filters, order, rows, from: 'key' }, engine))
  }
  for (const expansion of list.expand) {
    const from = fieldOf(list, expansion.from)
    const plan = (expansion.many ? planMany : planOne)(expansion, from, 1, engine)
    await explainQuery(`expand=${expansion.name}`, plan)
  }
  return explained
}

const one = { values: [null], variant: '' }
const none = { values: [], variant: '' }

/** What a filter of each kind is applied with. */
const anything: Record<FilterKind, Pick<AppliedFilter, 'values' | 'variant'>> = {
  equals: one,
  in: { values: [null], variant: '1' },
  atLeast: one,
  atMost: one,
  above: one,
  below: one,
  prefix: { values: [null, null], variant: '' },
  flag: one,
  null: { values: [], variant: 'null' },
  positiveWhenTrue: none,
  search: one,
}

/** The value does not matter: the plan is made without looking at it. */
function equalsAnything({ fields }: ListDeclaration, column: string): AppliedFilter {
  const [field] = Object.entries(fields).find(([, one]) => one.column === column)!
  return {
    filter: { parameter: column, kind: 'equals', field, description: '' },
    values: [null],
    variant: '',
  }
}

async function explain(database: Database, { sql, slots }: Plan): Promise<string[]> {
  if (database.engine === 'sqlite') {
    const rows = database.readConnection.all<{ detail: string }>(
      `explain query plan ${sql}`,
      slots.map(() => null),
    )
    return rows
      .map(({ detail }) => detail)
      .filter((detail) => /SEARCH|SCAN (?!postern_|\()|TEMP B-TREE/.test(detail))
  }
  const client = await database.pool.connect()
  try {
    // Of a small table all would be read: what counts is whether the index can be used when it has grown.
    await client.query('begin')
    await client.query('set local plan_cache_mode = force_generic_plan')
    await client.query('set local enable_seqscan = off')
    await client.query(`prepare postern_explain as ${sql}`)
    const nulls = slots.length > 0 ? `(${slots.map(() => 'null').join(', ')})` : ''
    const { rows } = await client.query<Record<string, string>>(
      `explain (costs off) execute postern_explain${nulls}`,
    )
    return rows
      .map((row) => row['QUERY PLAN']!.replace(/^[\s>-]+/, ''))
      .filter((line) => /Scan |Scan$|^(?:Incremental )?Sort$/.test(line))
  } finally {
    // Its settings and its statement go with it.
    client.release(true)
  }
}
