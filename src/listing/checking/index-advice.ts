import type { Engine } from '../../storage/query-runner.ts'
import { fieldOf, type ListDeclaration, type RowAccess, type SortKey } from '../list.ts'
import { indexName, quote, quoteTable } from '../names.ts'
import { readOrder, standingOrder } from '../order.ts'
import type { Index, Table } from './table.ts'

/** What a query wants an index for: rows that equal something in some columns, in an order. */
export interface WantedIndex {
  /** The query, as a query string. */
  query: string
  equal: readonly string[]
  order: readonly SortKey[]
}

export interface MissingIndex {
  query: string
  /** The statement that makes it. */
  statement: string
}

/** One for every order that can be asked for, and one for every filter that looks for one value. */
export function wantedIndexes(list: ListDeclaration): WantedIndex[] {
  const rows = rowColumns(list)
  const standing = standingOrder(list)
  const orders = list.sort.map((sort) => ({
    query: `sort=${sort}`,
    equal: rows,
    order: readOrder(list, sort),
  }))
  const filters = list.filters
    .filter(({ kind }) => kind === 'equals')
    .map(({ parameter, field }) => ({
      query: `${parameter}=…`,
      equal: [...new Set([...rows, fieldOf(list, field).column])],
      order: standing,
    }))
  return [{ query: '', equal: rows, order: standing }, ...orders, ...filters]
}

/** The columns that `where` wants to equal one value, found out with a made-up caller. */
function rowColumns({ where, fields, access }: ListDeclaration): string[] {
  const conditions = where && sample(where, access)
  if (!conditions) return []
  return Object.entries(conditions).flatMap(([name, value]) =>
    typeof value === 'object' || !Object.hasOwn(fields, name) ? [] : [fields[name]!.column],
  )
}

function sample(where: RowAccess, access: ListDeclaration['access']): ReturnType<RowAccess> {
  const role = access === 'admin' ? 'admin' : 'user'
  try {
    return where(access === 'public' ? undefined : { kind: 'session', role, userId: 'somebody' })
  } catch {
    // It may know its callers: nothing is advised for it, and nothing else depends on this call.
    return false
  }
}

/** What is missing. An index that is advised for one query may serve another. */
export function missingIndexes(list: ListDeclaration, table: Table, engine: Engine): MissingIndex[] {
  const indexes = [...table.indexes]
  const missing: MissingIndex[] = []
  for (const wanted of wantedIndexes(list)) {
    if (indexes.some((index) => serves(index, wanted))) continue
    const index = indexFor(wanted)
    indexes.push(index)
    missing.push({ query: wanted.query, statement: createIndex(list.table, index, engine) })
  }
  return missing
}

/** The one index that a query wants, when it is missing. */
export function missingIndex(
  table: string,
  wanted: WantedIndex,
  indexes: readonly Index[],
  engine: Engine,
): MissingIndex[] {
  if (indexes.some((index) => serves(index, wanted))) return []
  return [{ query: wanted.query, statement: createIndex(table, indexFor(wanted), engine) }]
}

/** Whether reading the index forward or backward gives the rows in their order. */
export function serves({ columns }: Index, { equal, order }: WantedIndex): boolean {
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
  return { name: columns.map(({ column }) => column).join('_'), unique: false, columns }
}

function createIndex(table: string, { name, columns }: Index, engine: Engine): string {
  // Without CONCURRENTLY nobody could write meanwhile.
  const how = engine === 'postgres' ? 'create index concurrently' : 'create index'
  const parts = columns.map(({ column, descending }) => `${quote(column)}${descending ? ' desc' : ''}`)
  return `${how} ${quote(indexName(table, `by_${name}`))} on ${quoteTable(table)} (${parts.join(', ')});`
}
