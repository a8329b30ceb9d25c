import type { Engine } from '../../storage/query-runner.ts'
import { fieldOf, type ListDeclaration, type SortKey } from '../list.ts'
import { indexName, quote, quoteTable } from '../names.ts'
import { areConditions } from '../row-access.ts'
import { declaredQueries, type DeclaredQuery } from './declared-queries.ts'
import type { Index, Table } from './table.ts'

/** What a query wants an index for: rows that equal something in some columns, in an order. */
export interface WantedIndex {
  /** The query, as a query string. */
  query: string
  equal: readonly string[]
  order: readonly SortKey[]
}

export interface MissingIndex {
  /** The queries that it is missing for. */
  queries: readonly string[]
  /** The statement that makes it. */
  statement: string
}

export interface MissingIndexes {
  /** For an order, or for a filter on the standing order; and, with them, for pairs that the same index serves. */
  missing: readonly MissingIndex[]
  /** For pairs of a filter and a sort alone. */
  forPairs: readonly MissingIndex[]
}

/** For an order, and for a filter that looks for one value; `undefined` for a filter that no index puts in front of an order. */
function wantedIndex(
  list: ListDeclaration,
  rows: readonly string[],
  { query, filter, order }: DeclaredQuery,
): WantedIndex | undefined {
  if (filter === undefined) return { query, equal: rows, order }
  if (filter.kind !== 'equals') return undefined
  return { query, equal: [...new Set([...rows, fieldOf(list, filter.field).column])], order }
}

/** The columns that `where` wants to equal one value, found out with a made-up caller. */
export function rowColumns(list: ListDeclaration): string[] {
  const { fields } = list
  const conditions = sampleConditions(list)
  if (!areConditions(conditions)) return []
  return Object.entries(conditions).flatMap(([name, value]) =>
    typeof value === 'object' || !Object.hasOwn(fields, name) ? [] : [fields[name]!.column],
  )
}

/** What `where` answers a made-up caller; false where there is none, or it knows its callers. */
export function sampleConditions({ where, access }: ListDeclaration): unknown {
  if (!where) return false
  const role = access === 'admin' ? 'admin' : 'user'
  try {
    return where(access === 'public' ? undefined : { kind: 'session', role, userId: 'somebody' })
  } catch {
    // It may know its callers: nothing is advised for it, and nothing else depends on this call.
    return false
  }
}

/** What is missing. An index that is advised for one query may serve others, and then is advised once, with all of them. */
export function missingIndexes(list: ListDeclaration, table: Table, engine: Engine): MissingIndexes {
  const { single, pairs } = declaredQueries(list)
  const rows = rowColumns(list)
  const advised: { index: Index; queries: string[] }[] = []
  const advise = (query: DeclaredQuery): void => {
    const wanted = wantedIndex(list, rows, query)
    if (!wanted || table.indexes.some((index) => serves(index, wanted))) return
    const serving = advised.find(({ index }) => serves(index, wanted))
    if (serving) serving.queries.push(wanted.query)
    else advised.push({ index: indexFor(wanted), queries: [wanted.query] })
  }
  single.forEach(advise)
  const ofSingle = advised.length
  pairs.forEach(advise)
  const missing = advised.map(({ index, queries }) => ({
    queries,
    statement: createIndex(list.table, index, engine),
  }))
  return { missing: missing.slice(0, ofSingle), forPairs: missing.slice(ofSingle) }
}

/** The one index that a query wants, when it is missing. */
export function missingIndex(
  table: string,
  wanted: WantedIndex,
  indexes: readonly Index[],
  engine: Engine,
): MissingIndex[] {
  if (indexes.some((index) => serves(index, wanted))) return []
  return [{ queries: [wanted.query], statement: createIndex(table, indexFor(wanted), engine) }]
}

/** Whether reading the index forward or backward gives the rows in their order. */
function serves({ unique, columns }: Index, { equal, order }: WantedIndex): boolean {
  // One row at most has no order.
  if (unique && columns.every(({ column }) => equal.includes(column))) return true
  const open = new Set(equal)
  let position = 0
  while (position < columns.length && open.delete(columns[position]!.column)) position += 1
  if (open.size > 0) return false
  const keys = order.filter(({ field }) => !equal.includes(field.column))
  const rest = columns.slice(position, position + keys.length)
  if (rest.length < keys.length) return false
  const turned = rest.map(({ descending }, index) => descending !== keys[index]!.descending)
  return rest.every(({ column }, index) => column === keys[index]!.field.column) && new Set(turned).size <= 1
}

function indexFor({ equal, order }: WantedIndex): Index {
  const keys = order.filter(({ field }) => !equal.includes(field.column))
  const columns = [
    ...equal.map((column) => ({ column, descending: false })),
    ...keys.map(({ field, descending }) => ({ column: field.column, descending })),
  ]
  // Two orders of the same columns are two indexes, unless one is the other's reverse.
  const mixed = new Set(keys.map(({ descending }) => descending)).size > 1
  const parts = columns.map(({ column, descending }) => (mixed && descending ? `${column}_desc` : column))
  return { name: parts.join('_'), unique: false, columns }
}

function createIndex(table: string, { name, columns }: Index, engine: Engine): string {
  // Without CONCURRENTLY nobody could write meanwhile.
  const how = engine === 'postgres' ? 'create index concurrently' : 'create index'
  const parts = columns.map(({ column, descending }) => `${quote(column)}${descending ? ' desc' : ''}`)
  return `${how} ${quote(indexName(table, `by_${name}`))} on ${quoteTable(table)} (${parts.join(', ')});`
}
