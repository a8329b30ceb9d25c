import { hash } from 'node:crypto'
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
import { byBytes, isTextArray, loweredColumn, memberColumn } from '../filters.ts'
import { areConditions, settingsOf } from '../items.ts'
import type { List, RowAccess } from '../config.ts'
import { defaultOrder, readOrder } from '../order.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { longestName, quote, quoteTable } from '../../storage/sql-text.ts'
import type { Settings } from '../standby-reader.ts'
import type { Index, IndexedColumn, Table } from './table.ts'

/** The name of an advised index: the table without its schema, and `what`. A name that is too long is cut and ends with a hash. */
export function indexName(table: string, what: string): string {
  const name = `${table.split('.').at(-1)}_${what}`
  if (Buffer.byteLength(name) <= longestName) return name
  return `${Buffer.from(name)
    .subarray(0, 50)
    .toString('utf8')
    .replace(/\uFFFD{1,3}$/, '')}_${hash('sha256', name, 'hex').slice(0, 12)}`
}

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

/** Advises the indexes that a table lacks. One that serves several queries is advised once, with all of them. */
function advise(table: Table, wanted: readonly WantedIndex[], engine: Engine): MissingIndex[] {
  const advised: { index: Index; queries: string[] }[] = []
  for (const one of wanted) {
    const isServing = (index: Index): boolean => serves(index, one, engine)
    if (table.indexes.some(isServing)) continue
    const serving = advised.find(({ index }) => isServing(index))
    if (serving) serving.queries.push(one.query)
    else advised.push({ index: indexFor(one, engine), queries: [one.query] })
  }
  return advised.map(({ index, queries }) => {
    const on = `(${index.columns.map(indexedColumn).join(', ')})`
    return { queries, statement: createIndex(table, `by_${index.name}`, on, engine) }
  })
}

/** The indexes for each order and each filter in the default order, then those only for pairs of a filter and a sort. */
export function missingIndexes(
  list: ListDeclaration,
  table: Table,
  engine: Engine,
): Record<'missing' | 'missingForPairs', MissingIndex[]> {
  const { single, pairs } = declaredQueries(list)
  const rows = rowAccessFields(list).map((name) => fieldOf(list, name).column)
  const wanted = ({ query, filter, order }: DeclaredQuery): WantedIndex[] => {
    // joinFaults requires the indexes for orders by another table's fields.
    if (order[0]?.of) return []
    // An index cannot have a column before the order that is compared with more than one value.
    if (filter && (filter.kind !== 'equals' || filter.member !== undefined)) return []
    const filtered = filter ? [fieldOf(list, filter.field).column] : []
    return [{ query, equal: [...new Set([...rows, ...filtered])], order }]
  }
  const ofSingle = advise(table, single.flatMap(wanted), engine).length
  const all = advise(table, [...single, ...pairs].flatMap(wanted), engine)
  return { missing: all.slice(0, ofSingle), missingForPairs: all.slice(ofSingle) }
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
  const queries = sortQueries({ ...list, sort: sorts })
  const wanted = (equal: readonly string[], isOwn: boolean): WantedIndex[] =>
    queries.map(({ query, order }) => ({ query, equal, order: order.filter((key) => !key.of === isOwn) }))
  return [...advise(other, wanted([], false), engine), ...advise(table, wanted(own, true), engine)].map(
    ({ statement }) => `${needs} an index: ${statement}`,
  )
}

/** Whether the index, read forward or backward, gives the rows in their order. */
function serves({ unique, columns }: Index, wanted: WantedIndex, engine: Engine): boolean {
  const { equal } = wanted
  // A single row needs no order.
  const isOne = unique && columns.every(({ column, collation }) => !collation && equal.includes(column))
  if (isOne) return true
  const open = new Set(equal)
  let position = 0
  const isOpen = ({ column, collation }: IndexedColumn): boolean =>
    collation === undefined && open.delete(column)
  while (position < columns.length && isOpen(columns[position]!)) position += 1
  if (open.size > 0) return false
  const keys = orderColumns(wanted, engine)
  const rest = columns.slice(position, position + keys.length)
  const isSame = (key: IndexedColumn, { column, collation, opposed }: IndexedColumn): boolean =>
    column === key.column && collation === key.collation && !opposed === !key.opposed
  const turned = new Set(rest.map(({ descending }, index) => descending !== keys[index]!.descending))
  return (
    rest.length === keys.length && rest.every((part, index) => isSame(part, keys[index]!)) && turned.size <= 1
  )
}

/** The columns of an order that are not compared with one value. */
function orderColumns({ equal, order }: WantedIndex, engine: Engine): IndexedColumn[] {
  // Equal values of a column can differ in another collation.
  const keys = order.filter(({ field }) => field.collation !== undefined || !equal.includes(field.column))
  return keys.map((key) => ({
    column: key.field.column,
    descending: key.descending,
    collation: key.field.collation,
    // SQLite reads an index in two parts for nulls at the other end; PostgreSQL needs an index that has them there.
    opposed: engine === 'postgres' && isOpposed(key, engine),
  }))
}

function indexFor(wanted: WantedIndex, engine: Engine): Index {
  const keys = orderColumns(wanted, engine)
  const columns = [...wanted.equal.map((column) => ({ column, descending: false })), ...keys]
  // Orders of the same columns with other directions need an index each, unless one is the reverse of the other.
  const mixed = new Set(keys.map(({ descending }) => descending)).size > 1
  const parts = columns.map(({ column: name, collation, descending, opposed }: IndexedColumn) => {
    const column = collation === undefined ? name : `${name}_${collation}`
    const end = descending ? `${column}_desc_nulls_last` : `${column}_nulls_first`
    return opposed ? end : mixed && descending ? `${column}_desc` : column
  })
  return { name: parts.join('_'), unique: false, columns }
}

function indexedColumn({ column, collation, descending, opposed }: IndexedColumn): string {
  const nulls = opposed ? ` nulls ${descending ? 'last' : 'first'}` : ''
  return `${collated(quote(column), collation)}${descending ? ' desc' : ''}${nulls}`
}

/**
 * The statement that creates an index. Without `concurrently`, PostgreSQL locks out writers meanwhile, but partitioned tables reject it:
 * https://www.postgresql.org/docs/current/ddl-partitioning.html
 */
function createIndex({ name: table, partitioned }: Table, name: string, on: string, engine: Engine): string {
  const how = engine === 'postgres' && !partitioned ? 'concurrently ' : ''
  return `create index ${how}${quote(indexName(table, name))} on ${quoteTable(table)} ${on};`
}

/** Queries of one list that are explained: more would take long, and the report would be too long to read. */
export const maxQueries = 200

/** A query that clients can send: with at most one filter, in one of the declared orders. */
interface DeclaredQuery {
  /** The query string; empty for the list without parameters. */
  query: string
  filter?: Filter
  order: readonly SortKey[]
}

/**
 * The queries that a declaration allows: the list without parameters, each sort, and each filter in the default order; then each filter
 * with each sort, up to the maximum; and how many of these pairs are left out. The reverse of a sort is not among them: it reads the
 * same index backward.
 */
export function declaredQueries(list: ListDeclaration): {
  single: DeclaredQuery[]
  pairs: DeclaredQuery[]
  omitted: number
} {
  const byDefault = defaultOrder(list)
  const sorts = sortQueries(list)
  const filters = list.filters.map((filter) => ({ query: `${filter.parameter}=…`, filter, order: byDefault }))
  const pairs = filters.flatMap(({ query, filter }) =>
    sorts.map((sort) => ({ query: `${query}&${sort.query}`, filter, order: sort.order })),
  )
  const single = [{ query: '', order: byDefault }, ...sorts, ...filters]
  const room = Math.max(0, maxQueries - single.length)
  return { single, pairs: pairs.slice(0, room), omitted: Math.max(0, pairs.length - room) }
}

/** A query for each sort, and with nulls at a fixed end for each direction, which needs an index of its own. */
function sortQueries(list: ListDeclaration): DeclaredQuery[] {
  const names = list.sort.flatMap((name) => (list.nulls[name] ? [name, `-${name}`] : [name]))
  return names.map((sort) => ({ query: `sort=${sort}`, order: readOrder(list, sort) }))
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

/** The fields that `where` compares with one value, whose columns an index needs in front. */
export function rowAccessFields({ access, where, fields }: ListDeclaration): string[] {
  const conditions = sampleOf(access, where)
  if (!areConditions(conditions)) return []
  return Object.keys(conditions).filter(
    (name) => typeof conditions[name] !== 'object' && Object.hasOwn(fields, name),
  )
}

/** Without an index on the key and the order, the whole other table would be read for each item of a page. */
export function missingManyIndex(expansion: Expansion, other: Table, engine: Engine): MissingIndex[] {
  const { name, key, many } = expansion
  if (!many || other.kind === 'view') return []
  const order = many.order.map((text) => sortKeyOf(expansion, text))
  return advise(other, [{ query: `expand=${name}`, equal: key, order }], engine)
}

/** The missing indexes of special kinds, such as GIN, each with all filters that it serves. */
export function missingFilterIndexes(list: ListDeclaration, table: Table, engine: Engine): MissingIndex[] {
  if (table.kind === 'view') return []
  const known = table.definitions.map(bareText)
  const advised = new Map<string, string[]>()
  for (const filter of list.filters) {
    const { statement, parts } = filterIndex(list, table, filter, engine) ?? {}
    const exists = known.some((text) => parts?.every((part) => text.includes(bareText(part))))
    if (statement === undefined || exists) continue
    advised.set(statement, [...(advised.get(statement) ?? []), `${filter.parameter}=…`])
  }
  return [...advised].map(([statement, queries]) => ({ queries, statement }))
}

/** The index of an expression, or of parts of the values, that serves a filter. */
interface FilterIndex {
  statement: string
  /** Texts that the definition of such an index has. Without them, the filter names the index. */
  parts?: readonly string[]
}

function filterIndex(
  list: ListDeclaration,
  table: Table,
  { kind, field: name, member, configuration = 'simple', index }: Filter,
  engine: Engine,
): FilterIndex | undefined {
  const field = list.fields[name]!
  const { column, asText, array } = field
  const quoted = quote(column)
  const create = (name: string, on: string): string => createIndex(table, name, on, engine)
  if (member !== undefined) {
    if (kind !== 'equals' && kind !== 'in') return undefined
    const expression = memberColumn(quoted, member, engine)
    const statement = create(`${column}_${member.replaceAll('.', '_')}`, `(${expression})`)
    return { statement, parts: [expression] }
  }
  if (kind === 'iprefix') {
    const lowered = loweredColumn(quoted, field)
    return { statement: create(`lower_${column}`, `((${lowered})${byBytes[engine]})`), parts: [lowered] }
  }
  if (kind === 'contains' || kind === 'icontains') {
    if (engine === 'sqlite')
      return index === undefined ? { statement: trigramTable(list, column) } : undefined
    const on = `using gin (${asText === undefined ? quoted : `(${quoted}${asText})`} gin_trgm_ops)`
    const statement = `create extension if not exists pg_trgm; ${create(`trigrams_${column}`, on)}`
    return { statement, parts: ['trgm_ops', `${quoted}${asText ?? ''}`] }
  }
  // Its FTS5 tables are checked apart, and it has no index for the elements of an array.
  if (engine === 'sqlite') return undefined
  if (kind === 'search') {
    const literal = `'${configuration}'`
    const on = `using gin (to_tsvector(${literal}, ${quoted}))`
    return { statement: create(`search_${column}`, on), parts: ['to_tsvector', literal, quoted] }
  }
  const isIndexed = array === 'jsonb' || (array !== undefined && isTextArray(array))
  if (kind !== 'has' || !isIndexed) return undefined
  const on = `using gin (${quoted})`
  return { statement: create(`elements_${column}`, on), parts: [on] }
}

/** A definition without what PostgreSQL adds to it: quotes, parentheses and casts. */
function bareText(text: string): string {
  return text.toLowerCase().replaceAll(/::[\w[\]]+|["\s()]/g, '')
}

function trigramTable({ table }: ListDeclaration, column: string): string {
  return `create virtual table ${quote(`${table}_${column}_trigrams`)} using fts5(${quote(column)}, content=${quote(table)}, tokenize='trigram'); with triggers that update it (https://sqlite.org/fts5.html#external_content_tables), and its name as \`index\` of the filter`
}
