import {
  collated,
  type Expansion,
  fieldOf,
  type Filter,
  isOpposed,
  type ListDeclaration,
  type SortKey,
  sortKeyOf,
} from '../list.ts'
import { isTextArray, loweredColumn, memberColumn, partKinds } from '../filters.ts'
import { areConditions, settingsOf } from '../items.ts'
import type { List, RowAccess } from '../config.ts'
import { defaultOrder, readOrder } from '../order.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { indexName } from '../names.ts'
import { quote, quoteTable } from '../../storage/sql-text.ts'
import type { Settings } from '../standby-reader.ts'
import type { Index, Table } from './table.ts'

/** The index that a query needs: first the columns that it compares with one value, then its order. */
interface WantedIndex {
  /** The query, as a query string. */
  query: string
  equal: readonly string[]
  order: readonly SortKey[]
}

export interface MissingIndex {
  /** The queries that need it. */
  queries: readonly string[]
  /** The statement that creates it. */
  statement: string
}

export interface MissingIndexes {
  /** For each order, and each filter in the default order. Pairs that the same index serves are named with it. */
  missing: readonly MissingIndex[]
  /** Only for pairs of a filter and a sort. */
  forPairs: readonly MissingIndex[]
}

/** `undefined` for a filter that compares with more than one value: an index cannot have its column before the order. */
function wantedIndex(
  list: ListDeclaration,
  rows: readonly string[],
  { query, filter, order }: DeclaredQuery,
): WantedIndex | undefined {
  if (filter === undefined) return { query, equal: rows, order }
  if (filter.kind !== 'equals' || filter.member !== undefined) return undefined
  return { query, equal: [...new Set([...rows, fieldOf(list, filter.field).column])], order }
}

/** Advises the indexes that are missing; an index that serves several queries is advised once, with all of them. */
export function missingIndexes(list: ListDeclaration, table: Table, engine: Engine): MissingIndexes {
  const { single, pairs } = declaredQueries(list)
  const rows = rowAccessColumns(list)
  const advised: { index: Index; queries: string[] }[] = []
  const advise = (query: DeclaredQuery): void => {
    // joinFaults requires the indexes for orders by another table's fields.
    if (query.order[0]?.of) return
    const wanted = wantedIndex(list, rows, query)
    if (!wanted || table.indexes.some((index) => serves(index, wanted, engine))) return
    const serving = advised.find(({ index }) => serves(index, wanted, engine))
    if (serving) serving.queries.push(wanted.query)
    else advised.push({ index: indexFor(wanted, engine), queries: [wanted.query] })
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

/**
 * Why sorts by an expansion's fields are not possible. A page walks an index of the other table, and for each of its rows seeks the list's
 * rows. Without a foreign key, it would miss rows. Without the indexes, it would read and sort all rows.
 * @param references the foreign keys from the list's table to the other one
 */
export function joinFaults(
  list: ListDeclaration,
  { of, sorts }: { of: Expansion; sorts: readonly string[] },
  [table, other]: readonly [Table, Table],
  references: readonly (readonly [string, string])[][],
  engine: Engine,
): string[] {
  const own = of.from.map((name) => fieldOf(list, name).column)
  const needs = `a sort by ${sorts[0]!} needs`
  if (table.kind === 'view' || other.kind === 'view') return [`${needs} tables, and not views`]
  if (of.loose) return [`${needs} a key of ${of.table} that compares equal values only as equal`]
  const nullable = own.find((column) => table.columns.get(column)?.nullable !== false)
  if (nullable !== undefined)
    return [`${needs} ${list.table}.${nullable} to be \`not null\`: rows without a value have no place in it`]
  const isKey = (pairs: readonly (readonly [string, string])[]): boolean =>
    pairs.length === own.length &&
    pairs.every(([column, key]) => own.indexOf(column) >= 0 && of.key[own.indexOf(column)] === key)
  if (!references.some(isKey)) {
    const names = (columns: readonly string[]): string => columns.map(quote).join(', ')
    const key = `foreign key (${names(own)}) references ${quoteTable(of.table)} (${names(of.key)})`
    return [
      engine === 'postgres'
        ? `${needs} a foreign key: alter table ${quoteTable(list.table)} add ${key};`
        : `${needs} a foreign key in the declaration of ${list.table}: ${key}`,
    ]
  }
  const wanted = sorts.flatMap((name) => (list.nulls[name] ? [name, `-${name}`] : [name]))
  const statements: string[] = []
  const demand = (name: string, indexes: Index[], one: WantedIndex): void => {
    if (indexes.some((index) => serves(index, one, engine))) return
    indexes.push(indexFor(one, engine))
    statements.push(createIndex(name, indexes.at(-1)!, engine))
  }
  const [ofOwn, ofOther] = [[...table.indexes], [...other.indexes]]
  for (const query of wanted) {
    const order = readOrder({ ...list, sort: sorts }, query)
    demand(of.table, ofOther, { query, equal: [], order: order.filter((key) => key.of) })
    demand(list.table, ofOwn, { query, equal: own, order: order.filter((key) => !key.of) })
  }
  return statements.map((statement) => `${needs} an index: ${statement}`)
}

/** Advises the index of one query when it is missing. */
function missingIndex(
  table: string,
  wanted: WantedIndex,
  indexes: readonly Index[],
  engine: Engine,
): MissingIndex[] {
  if (indexes.some((index) => serves(index, wanted, engine))) return []
  return [{ queries: [wanted.query], statement: createIndex(table, indexFor(wanted, engine), engine) }]
}

/** Whether the index, read forward or backward, gives the rows in their order. */
function serves({ unique, columns }: Index, { equal, order }: WantedIndex, engine: Engine): boolean {
  // A single row needs no order.
  const isOne = unique && columns.every(({ column, collation }) => !collation && equal.includes(column))
  if (isOne) return true
  const open = new Set(equal)
  let position = 0
  const isOpen = ({ column, collation }: Index['columns'][number]): boolean =>
    collation === undefined && open.delete(column)
  while (position < columns.length && isOpen(columns[position]!)) position += 1
  if (open.size > 0) return false
  const keys = keysBeside(equal, order)
  const rest = columns.slice(position, position + keys.length)
  if (rest.length < keys.length) return false
  const turned = rest.map(({ descending }, index) => descending !== keys[index]!.descending)
  const isSame = ({ column, collation, opposed = false }: Index['columns'][number], key: SortKey): boolean =>
    column === key.field.column &&
    collation === key.field.collation &&
    opposed === isOpposedInIndex(key, engine)
  return rest.every((part, index) => isSame(part, keys[index]!)) && new Set(turned).size <= 1
}

/** The keys that are not compared with one value. Equal values of a column can differ in another collation. */
function keysBeside(equal: readonly string[], order: readonly SortKey[]): SortKey[] {
  return order.filter(({ field }) => field.collation !== undefined || !equal.includes(field.column))
}

/** SQLite reads an index in two parts for nulls at the other end; PostgreSQL needs an index that has them there. */
function isOpposedInIndex(key: SortKey, engine: Engine): boolean {
  return engine === 'postgres' && isOpposed(key, engine)
}

function indexFor({ equal, order }: WantedIndex, engine: Engine): Index {
  const keys = keysBeside(equal, order)
  const columns: Index['columns'] = [
    ...equal.map((column) => ({ column, descending: false })),
    ...keys.map((key) => ({
      column: key.field.column,
      descending: key.descending,
      ...(key.field.collation !== undefined && { collation: key.field.collation }),
      ...(isOpposedInIndex(key, engine) && { opposed: true }),
    })),
  ]
  // Orders of the same columns with other directions need an index each, unless one is the reverse of the other.
  const mixed = new Set(keys.map(({ descending }) => descending)).size > 1
  const parts = columns.map(({ column: name, collation, descending, opposed }) => {
    const column = collation === undefined ? name : `${name}_${collation}`
    const end = descending ? `${column}_desc_nulls_last` : `${column}_nulls_first`
    return opposed ? end : mixed && descending ? `${column}_desc` : column
  })
  return { name: parts.join('_'), unique: false, columns }
}

function createIndex(table: string, { name, columns }: Index, engine: Engine): string {
  // Without CONCURRENTLY, PostgreSQL locks out writers while it creates the index.
  const how = engine === 'postgres' ? 'create index concurrently' : 'create index'
  const parts = columns.map(
    ({ column, collation, descending, opposed }) =>
      `${collated(quote(column), collation)}${descending ? ' desc' : ''}${opposed ? ` nulls ${descending ? 'last' : 'first'}` : ''}`,
  )
  return `${how} ${quote(indexName(table, `by_${name}`))} on ${quoteTable(table)} (${parts.join(', ')});`
}

/** Queries of one list that are explained: more would take long, and the report would be too long to read. */
export const maxQueries = 200

/** A query that clients can send: with at most one filter, in one of the declared orders. */
export interface DeclaredQuery {
  /** The query string; empty for the list without parameters. */
  query: string
  filter?: Filter
  order: readonly SortKey[]
}

interface DeclaredQueries {
  /** The list without parameters, each sort, and each filter in the default order. */
  single: readonly DeclaredQuery[]
  /** Each filter with each sort. */
  pairs: readonly DeclaredQuery[]
  /** The number of pairs beyond the maximum, which are left out. */
  omitted: number
}

/** The queries that a declaration allows. The reverse of a sort is not among them: it reads the same index backward. */
export function declaredQueries(list: ListDeclaration): DeclaredQueries {
  const byDefault = defaultOrder(list)
  // With nulls at a fixed end, each direction needs an index of its own.
  const names = list.sort.flatMap((name) => (list.nulls[name] ? [name, `-${name}`] : [name]))
  const sorts = names.map((sort) => ({ query: `sort=${sort}`, order: readOrder(list, sort) }))
  const filters = list.filters.map((filter) => ({ query: `${filter.parameter}=…`, filter, order: byDefault }))
  const pairs = filters.flatMap(({ query, filter }) =>
    sorts.map((sort) => ({ query: `${query}&${sort.query}`, filter, order: sort.order })),
  )
  const single = [{ query: '', order: byDefault }, ...sorts, ...filters]
  const room = Math.max(0, maxQueries - single.length)
  return { single, pairs: pairs.slice(0, room), omitted: Math.max(0, pairs.length - room) }
}

/** Returns the result of `where` or `settings` for a sample caller; `false` without it, and if it throws for unknown callers. */
function sampleOf(access: List['access'], of: RowAccess | undefined): unknown {
  if (!of) return false
  const role = access === 'admin' ? 'admin' : 'user'
  try {
    const user = { id: 'sample' }
    const known = { kind: 'session', userId: user.id } as const
    return of({ role, user: undefined, claims: {}, ...(access !== 'public' && { ...known, user }) })
  } catch {
    return false
  }
}

export function validateRowAccess(list: ListDeclaration, engine: Engine): string[] {
  if (list.settings && engine === 'sqlite')
    return ['`settings` needs PostgreSQL, whose policies read them: use `where`']
  try {
    sampleSettings(list)
  } catch (error) {
    return [(error as Error).message]
  }
  const conditions = sampleOf(list.access, list.where)
  if (conditions === false) return []
  if (!areConditions(conditions))
    return ['the function `where` must return conditions or false, and not a promise']
  return Object.keys(conditions)
    .filter((name) => !Object.hasOwn(list.fields, name))
    .map((name) => `there is no field ${name}, which \`where\` uses`)
}

/** The settings for the sample caller. @throws TypeError for another result than settings or false */
export function sampleSettings(list: ListDeclaration): Settings {
  return settingsOf(sampleOf(list.access, list.settings), list) ?? []
}

/** The columns that `where` compares with one value, which an index needs in front. */
export function rowAccessColumns(list: ListDeclaration): string[] {
  const { fields } = list
  const conditions = sampleOf(list.access, list.where)
  if (!areConditions(conditions)) return []
  return Object.entries(conditions).flatMap(([name, value]) =>
    typeof value === 'object' || !Object.hasOwn(fields, name) ? [] : [fields[name]!.column],
  )
}

/** Without an index on the key and the order, the whole other table would be read for each item of a page. */
export function missingManyIndex(expansion: Expansion, other: Table, engine: Engine): MissingIndex[] {
  const { name, table, key, many } = expansion
  if (!many || other.kind === 'view') return []
  const wanted = {
    query: `expand=${name}`,
    equal: key,
    order: many.order.map((text) => sortKeyOf(expansion, text)),
  }
  return missingIndex(table, wanted, other.indexes, engine)
}

/** The missing indexes of special kinds, such as GIN, that filters need. */
export function missingFilterIndexes(list: ListDeclaration, table: Table, engine: Engine): MissingIndex[] {
  if (table.kind === 'view') return []
  return [
    ...(engine === 'postgres' ? missingSearchIndexes(list, table) : []),
    ...missingPartIndexes(list, table, engine),
  ]
}

function missingSearchIndexes(list: ListDeclaration, { definitions }: Table): MissingIndex[] {
  const filters = list.filters.filter(({ kind }) => kind === 'search')
  return filters.flatMap(({ field, parameter, configuration = 'simple' }) => {
    const { column } = list.fields[field]!
    const exists = definitions.some(
      (text) => text.includes('to_tsvector') && text.includes(`'${configuration}'`) && text.includes(column),
    )
    const statement = `create index concurrently ${quote(indexName(list.table, `search_${column}`))} on ${quoteTable(list.table)} using gin (to_tsvector('${configuration}', ${quote(column)}));`
    return exists ? [] : [{ queries: [`${parameter}=…`], statement }]
  })
}

/** The missing indexes for filters on parts of texts, JSON members and array elements, each with all filters that it serves. */
function missingPartIndexes(list: ListDeclaration, { definitions }: Table, engine: Engine): MissingIndex[] {
  const known = definitions.map(withoutQuotes)
  const advised = new Map<string, string[]>()
  for (const filter of list.filters) {
    const { kind, member } = filter
    const statement =
      kind === 'has' || member !== undefined
        ? missingJsonIndex(list, filter, known, engine)
        : partKinds.has(kind)
          ? missingPartIndex(list, filter, known, engine)
          : undefined
    if (statement === undefined) continue
    advised.set(statement, [...(advised.get(statement) ?? []), `${filter.parameter}=…`])
  }
  return [...advised].map(([statement, queries]) => ({ queries, statement }))
}

/** The statement that creates the index on the column in lower case, or on its trigrams; `undefined` if it exists. */
function missingPartIndex(
  list: ListDeclaration,
  { kind, field: name, index }: Filter,
  known: readonly string[],
  engine: Engine,
): string | undefined {
  const field = list.fields[name]!
  const column = quote(field.column)
  const create = (what: string, on: string): string =>
    `${engine === 'postgres' ? 'create index concurrently' : 'create index'} ${quote(indexName(list.table, `${what}_${field.column}`))} on ${quoteTable(list.table)} ${on};`
  if (kind === 'iprefix') {
    const [expression, collation = ''] = loweredColumn(column, field, engine).split(/(?= collate )/)
    const [inner] = withoutQuotes(expression!).split('::')
    const exists = known.some((text) =>
      text.replaceAll(/[()]|::text/g, '').includes(inner!.replaceAll(/[()]/g, '')),
    )
    return exists ? undefined : create('lower', `((${expression!})${collation})`)
  }
  if (engine === 'sqlite') return index === undefined ? trigramTable(list, field.column) : undefined
  const exists = known.some((text) => text.includes('trgm_ops') && text.includes(withoutQuotes(field.column)))
  const expression = field.ignoresCase ? `(${column}::text)` : column
  return exists
    ? undefined
    : `create extension if not exists pg_trgm; ${create('trigrams', `using gin (${expression} gin_trgm_ops)`)}`
}

/** The same for a JSON member or array elements. SQLite has no index for elements. */
function missingJsonIndex(
  list: ListDeclaration,
  { kind, member, field: name }: Filter,
  known: readonly string[],
  engine: Engine,
): string | undefined {
  const { column, array } = list.fields[name]!
  const on = `on ${quoteTable(list.table)}`
  const how = engine === 'postgres' ? 'create index concurrently' : 'create index'
  if (member !== undefined) {
    if (kind !== 'equals' && kind !== 'in') return undefined
    const expression = memberColumn(quote(column), member, engine)
    const written = withoutQuotes(expression).replaceAll(/::[\w[\]]+|[()]/g, '')
    const exists = known.some((text) => text.replaceAll(/::[\w[\]]+|[()]/g, '').includes(written))
    const index = quote(indexName(list.table, `${column}_${member.replaceAll('.', '_')}`))
    return exists ? undefined : `${how} ${index} ${on} (${expression});`
  }
  if (engine === 'sqlite' || array === undefined || !(array === 'jsonb' || isTextArray(array)))
    return undefined
  const exists = known.some((text) => text.includes('usinggin') && text.includes(`(${withoutQuotes(column)}`))
  const index = quote(indexName(list.table, `elements_${column}`))
  return exists ? undefined : `${how} ${index} ${on} using gin (${quote(column)});`
}

function withoutQuotes(text: string): string {
  return text.toLowerCase().replaceAll(/["\s]/g, '')
}

function trigramTable({ table }: ListDeclaration, column: string): string {
  return `create virtual table ${quote(`${table}_${column}_trigrams`)} using fts5(${quote(column)}, content=${quote(table)}, tokenize='trigram'); with triggers that update it (https://sqlite.org/fts5.html#external_content_tables), and its name as \`index\` of the filter`
}
