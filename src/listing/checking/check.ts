import type { Database, PostgresDatabase } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { FieldType } from '../field-types.ts'
import { orderOfMany, type Expansion, type Field, type ListDeclaration } from '../list.ts'
import { faultOfKept, totalOf } from '../kept/kept-order.ts'
import { indexName, quote, quoteTable } from '../names.ts'
import { standingOrder } from '../order.ts'
import {
  missingIndex,
  missingIndexes,
  sampleConditions,
  type MissingIndex,
  type MissingIndexes,
} from './index-advice.ts'
import { areConditions } from '../row-access.ts'
import { missingConfigurations } from './inspect.postgres.ts'
import { inspectTable, type Table } from './table.ts'
import { withTimeForms } from './time-forms.ts'

/** What a declared list and its table say of each other. */
export interface CheckedList {
  /** The declaration, with what only the table knows: which columns may be null. */
  list: ListDeclaration
  /** Why it cannot be read at all. */
  faults: readonly string[]
  /** Queries that would read and sort all rows. */
  missing: readonly MissingIndex[]
  /** Pairs of a filter and a sort that would read and sort all rows that the filter lets pass. */
  missingForPairs: readonly MissingIndex[]
  /** The command that begins what the list is to keep and does not keep yet; until then its high pages are slow. */
  keep?: string
}

/** The columns that a type of field can be read from: PostgreSQL's types, and SQLite's affinities. */
const fits: Record<FieldType, Record<Engine, readonly string[]>> = {
  text: { postgres: ['text', 'varchar', 'bpchar', 'citext', 'name'], sqlite: ['text', 'blob'] },
  enum: { postgres: ['enum', 'text', 'varchar', 'bpchar'], sqlite: ['text', 'blob', 'numeric'] },
  uuid: { postgres: ['uuid'], sqlite: ['text', 'blob', 'numeric'] },
  integer: { postgres: ['int2', 'int4', 'int8'], sqlite: ['integer', 'numeric'] },
  bigint: { postgres: ['int2', 'int4', 'int8'], sqlite: ['integer', 'numeric'] },
  number: { postgres: ['float8'], sqlite: ['real', 'numeric', 'integer'] },
  real: { postgres: ['float4'], sqlite: ['real', 'numeric'] },
  numeric: { postgres: ['numeric'], sqlite: ['numeric', 'integer', 'real'] },
  boolean: { postgres: ['bool'], sqlite: ['integer', 'numeric'] },
  time: { postgres: ['text', 'varchar'], sqlite: ['text', 'numeric', 'blob'] },
  milliseconds: { postgres: ['int8'], sqlite: ['integer', 'numeric'] },
  timestamp: { postgres: ['timestamptz', 'timestamp'], sqlite: ['text', 'numeric', 'blob'] },
  timeText: { postgres: ['text', 'varchar'], sqlite: ['text', 'numeric', 'blob'] },
  date: { postgres: ['date'], sqlite: ['text', 'numeric', 'blob'] },
  json: { postgres: ['json', 'jsonb'], sqlite: ['text', 'numeric', 'blob'] },
}

export async function checkList(database: Database, list: ListDeclaration): Promise<CheckedList> {
  const { engine } = database
  const table = await inspectTable(database, list.table)
  if (!table)
    return { list, faults: [`there is no table or view ${list.table}`], missing: [], missingForPairs: [] }
  const faults = faultsOfFields(list.table, table, list.fields, engine)
  faults.push(...faultsOfKey(list, table), ...faultsOfWhere(list))
  faults.push(...(await faultsOfSearch(database, list, table)))
  const fields = knownFields(list.fields, table, engine)
  const expand: Expansion[] = []
  const missingForMany: MissingIndex[] = []
  for (const expansion of list.expand) {
    const other = await inspectTable(database, expansion.table)
    faults.push(...faultsOfExpansion(expansion, other, list, engine))
    if (other) missingForMany.push(...missingForExpansion(expansion, other, engine))
    const loose = other?.columns.get(expansion.key)?.loose ?? false
    expand.push(
      other ? { ...expansion, fields: knownFields(expansion.fields, other, engine), loose } : expansion,
    )
  }
  const readable = { ...list, fields: withTimeForms(database, list, fields, table), expand }
  const keeping = faults.length === 0 ? await checkKeeping(database, readable, table) : nothingKept
  faults.push(...keeping.faults)
  const known = { ...readable, kept: keeping.kept }
  const advice =
    table.kind === 'table' && faults.length === 0 ? missingIndexes(known, table, engine) : nothingMissing
  return {
    list: known,
    faults,
    missing: [...advice.missing, ...missingForSearch(known, table, engine), ...missingForMany],
    missingForPairs: advice.forPairs,
    ...(keeping.keep !== undefined && { keep: keeping.keep }),
  }
}

const nothingMissing: MissingIndexes = { missing: [], forPairs: [] }
const nothingKept: Kept = { kept: false, faults: [] }

interface Kept {
  kept: boolean
  faults: string[]
  keep?: string
}

/** Until the command was run that makes what keeps its counts, a list counts and skips like any other. */
async function checkKeeping(
  database: Database,
  list: ListDeclaration,
  { kind, folded }: Table,
): Promise<Kept> {
  if (!list.kept) return nothingKept
  const why =
    faultOfKept(standingOrder(list)) ??
    (kind === 'view' ? 'keeps the counts of a view, which can have no triggers' : undefined) ??
    (folded ? 'keeps the counts of a table with a collation that is not by bytes' : undefined)
  if (why !== undefined) return { ...nothingKept, faults: [why] }
  if (await inspectTable(database, totalOf(list))) return { ...nothingKept, kept: true }
  return { ...nothingKept, keep: `postern lists keep ${list.path}` }
}

/** A view does not tell what may be null: unless it was said, everything may, which costs a little and loses nothing. */
function knownFields(
  fields: Readonly<Record<string, Field>>,
  table: Table,
  engine: Engine,
): Record<string, Field> {
  const known = Object.entries(fields).map(([name, field]): [string, Field] => {
    const nullable = field.nullable ?? table.columns.get(field.column)?.nullable ?? true
    const type = engine === 'sqlite' && field.type === 'timestamp' ? 'timeText' : field.type
    return [name, { ...field, nullable, type }]
  })
  return Object.fromEntries(known)
}

function faultsOfFields(
  name: string,
  { columns, kind }: Table,
  fields: Readonly<Record<string, Field>>,
  engine: Engine,
): string[] {
  return Object.entries(fields).flatMap(([field, { column, type, values = [] }]) => {
    const found = columns.get(column)
    if (!found) {
      const there = [...columns.keys()].join(', ')
      return [`${name} has no column ${column}, which the field ${field} is read from; it has ${there}`]
    }
    const fitting = fits[type][engine]
    const unknown = values.filter((value) => found.values?.includes(value) === false)
    if (unknown.length > 0)
      return [
        `${name}.${column} has no value ${unknown.join(', ')}, which the field ${field} lists; it has ${found.values!.join(', ')}`,
      ]
    // What a view computes has no type on SQLite.
    if (fitting.includes(found.type) || (engine === 'sqlite' && kind === 'view')) return []
    return [
      `${name}.${column} is ${found.type}, and the field ${field} of type ${type} wants ${fitting.join(' or ')}`,
    ]
  })
}

function faultsOfWhere(list: ListDeclaration): string[] {
  const conditions = sampleConditions(list)
  if (conditions === false) return []
  if (!areConditions(conditions))
    return ['the function `where` returns neither conditions nor false; it has to, and at once']
  return Object.keys(conditions)
    .filter((name) => !Object.hasOwn(list.fields, name))
    .map((name) => `there is no field ${name}, which \`where\` looks at`)
}

/** A key that is not unique loses rows, and a null is never found behind another. */
function faultsOfKey(
  { table: name, key, fields }: ListDeclaration,
  { kind, columns, indexes }: Table,
): string[] {
  const { column } = fields[key]!
  const found = columns.get(column)
  if (kind === 'view' || !found) return []
  const faults: string[] = []
  if (
    !indexes.some(
      (index) => index.unique && index.columns.length === 1 && index.columns[0]!.column === column,
    )
  )
    faults.push(
      `${name}.${column} is the key and is not unique: create unique index ${quote(indexName(name, `${column}_key`))} on ${quoteTable(name)} (${quote(column)});`,
    )
  if (found.nullable) faults.push(`${name}.${column} is the key and may be null`)
  return faults
}

function faultsOfExpansion(
  { name, table, key, fields, from, many }: Expansion,
  other: Table | undefined,
  list: ListDeclaration,
  engine: Engine,
): string[] {
  if (!other) return [`there is no table or view ${table}, which ${name} is expanded from`]
  const faults = faultsOfFields(table, other, fields, engine)
  const { type } = list.fields[from]!
  faults.push(
    ...faultsOfFields(table, other, { [`${name}'s key`]: { column: key, type, description: '' } }, engine),
  )
  if (
    other.kind === 'table' &&
    !many &&
    !other.indexes.some(({ unique, columns }) => unique && columns.length === 1 && columns[0]!.column === key)
  )
    faults.push(
      `${table}.${key} is not unique, and ${name} is expanded by it: create unique index ${quote(indexName(table, `${key}_key`))} on ${quoteTable(table)} (${quote(key)});`,
    )
  return faults
}

/** Rows of one key in their order: without an index each item of a page would read the whole table. */
function missingForExpansion(expansion: Expansion, other: Table, engine: Engine): MissingIndex[] {
  const { name, table, key, many } = expansion
  if (!many || other.kind === 'view') return []
  const wanted = { query: `expand=${name}`, equal: [key], order: orderOfMany(expansion, many) }
  return missingIndex(table, wanted, other.indexes, engine)
}

async function faultsOfSearch(
  database: Database,
  list: ListDeclaration,
  { rowids }: Table,
): Promise<string[]> {
  if (database.engine === 'postgres') return faultsOfConfigurations(database, list)
  const faults: string[] = []
  if (!rowids && list.filters.some(({ kind }) => kind === 'search'))
    return [`${list.table} is a view or has no rowid, by which a search finds the rows of an FTS5 table`]
  for (const { kind, field, index = `${list.table}_search` } of list.filters) {
    if (kind !== 'search' || (await inspectTable(database, index))) continue
    const { column } = list.fields[field]!
    faults.push(
      `there is no FTS5 table ${index} to search ${field} in: create virtual table ${quote(index)} using fts5(${quote(column)}, content=${quote(list.table)}); and triggers that keep it (https://sqlite.org/fts5.html#external_content_tables)`,
    )
  }
  return faults
}

async function faultsOfConfigurations(
  database: PostgresDatabase,
  { filters }: ListDeclaration,
): Promise<string[]> {
  const asked = filters.flatMap(({ kind, configuration }) =>
    kind === 'search' && configuration !== undefined ? [configuration] : [],
  )
  const missing = await missingConfigurations(database, asked)
  return missing.map(
    (name) => `there is no text search configuration ${name}: \\dF in psql shows those there are`,
  )
}

function missingForSearch(
  list: ListDeclaration,
  { definitions, kind }: Table,
  engine: Engine,
): MissingIndex[] {
  if (engine !== 'postgres' || kind === 'view') return []
  return list.filters.flatMap(({ kind, field, parameter, configuration = 'simple' }) => {
    if (kind !== 'search') return []
    const { column } = list.fields[field]!
    const found = definitions.some(
      (text) => text.includes('to_tsvector') && text.includes(`'${configuration}'`) && text.includes(column),
    )
    const statement = `create index concurrently ${quote(indexName(list.table, `search_${column}`))} on ${quoteTable(list.table)} using gin (to_tsvector('${configuration}', ${quote(column)}));`
    return found ? [] : [{ queries: [`${parameter}=…`], statement }]
  })
}
