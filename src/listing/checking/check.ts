import type { Database, SqliteDatabase } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { quote, quoteTable } from '../../storage/sql-text.ts'
import type { Expansion, Field, Filter, ListDeclaration } from '../list.ts'
import {
  indexName,
  joinFaults,
  missingFilterIndexes,
  type MissingIndex,
  missingIndexes,
  missingManyIndex,
  validateRowAccess,
} from './index-advice.ts'
import { inactivePolicies, missingCollations, missingConfigurations } from './inspect.postgres.ts'
import { foreignKeys, inspectTable, sqliteCollations, type Table } from './table.ts'
import { sqliteForm, type TimeForm, timeFormOf, zonelessForm } from '../stored-times.ts'
import { totalTableOf, whyNotCountable } from '../counts/counts.ts'
import { defaultOrder } from '../order.ts'
import { columnTypes } from '../field-types.ts'
import { partKinds } from '../filters.ts'

/** A declared list, checked against the database. */
export interface CheckedList {
  /** The declaration, completed with facts about the table, such as which columns may be null. */
  list: ListDeclaration
  /** Why the list cannot be read. */
  faults: readonly string[]
  /** Indexes for queries that would read and sort all rows. */
  missing: readonly MissingIndex[]
  /** Indexes for pairs of a filter and a sort that would sort all rows that pass the filter. */
  missingForPairs: readonly MissingIndex[]
  /** The command that creates the counts, when the list declares `keep` and has none. Until then, deep pages are slow. */
  createCounts?: string
  /** Whether rows have no key. Walks may miss all of them but one: of two nulls, none comes after the other. */
  nullKeys?: boolean
}

export async function checkList(database: Database, declaration: ListDeclaration): Promise<CheckedList> {
  const { engine } = database
  const table = await inspectTable(database, declaration.table)
  if (!table) {
    const faults = [`there is no table or view ${declaration.table}`]
    return { list: declaration, faults, missing: [], missingForPairs: [] }
  }
  const expansions = await checkExpansions(database, declaration, table)
  const faults = [
    ...validateColumns(table, declaration.fields, engine),
    ...validateKey(declaration, table),
    ...validateRowAccess(declaration, engine),
    // A warning would not be enough: each caller would see the rows of all others.
    ...(declaration.settings && database.engine === 'postgres'
      ? await inactivePolicies(database, declaration)
      : []),
    ...(await validateSearch(database, declaration, table)),
    ...(await validateCollations(database, declaration)),
    ...expansions.faults,
  ]
  const fields = withStoredForms(database, declaration, knownFields(declaration.fields, table, engine), table)
  const readable = { ...declaration, fields, expand: expansions.expand }
  if (declaration.maintainCounts && faults.length === 0) faults.push(...keepFaults(readable, table, engine))
  const keeps = declaration.maintainCounts && faults.length === 0
  // Until its counts are created, a list counts and skips rows like any other.
  const counted = keeps && (await inspectTable(database, totalTableOf(readable))) !== undefined
  const nullKeys = faults.length === 0 && hasNullKeys(database, readable, table)
  const key = declaration.key.map((name) => [name, { ...fields[name]!, ...(nullKeys && { nullable: true }) }])
  const list = {
    ...readable,
    fields: { ...fields, ...(Object.fromEntries(key) as typeof fields) },
    maintainCounts: counted,
  }
  const advice =
    table.kind === 'table' && faults.length === 0
      ? missingIndexes(list, table, engine)
      : { missing: [], missingForPairs: [] }
  return {
    list,
    faults,
    ...advice,
    missing: [...advice.missing, ...missingFilterIndexes(list, table, engine), ...expansions.missing],
    ...(keeps && !counted && { createCounts: `postern lists keep ${list.path}` }),
    ...(nullKeys && { nullKeys }),
  }
}

/** Why triggers cannot maintain the counts of a list. */
function keepFaults(list: ListDeclaration, { kind, materialized, columns }: Table, engine: Engine): string[] {
  if (kind === 'view' || materialized) return ['`keep` needs a table: a view cannot have triggers']
  const order = defaultOrder(list)
  const why = whyNotCountable(order)
  if (why !== undefined || engine === 'postgres') return why === undefined ? [] : [why]
  const folded = order.find(({ field }) => columns.get(field.column)?.collation !== 'binary')
  return folded
    ? [`\`keep\` needs an order whose collations compare by bytes, and ${folded.name} has another`]
    : []
}

/**
 * Whether a table has rows whose key is null. SQLite accepts them in a primary key that is not declared `not null`
 * (https://sqlite.org/lang_createtable.html#the_primary_key); it finds them by the index of the key, which it reads whole for columns
 * that are not the first.
 */
function hasNullKeys(database: Database, { table: name, fields, key }: ListDeclaration, { kind }: Table) {
  if (database.engine !== 'sqlite' || kind === 'view') return false
  const isNull = key.map((part) => `${quote(fields[part]!.column)} is null`).join(' or ')
  return (
    database.readConnection.get(`select 1 from ${quoteTable(name)} where ${isNull} limit 1`) !== undefined
  )
}

/** Rows whose values decide about the form. */
const sampleSize = 100

/**
 * On SQLite, adds to each filtered time field the form in which the table's rows write times. A client that filters by
 * `2026-01-31T08:30:00Z` then finds a row with `2026-01-31 08:30:00`. Of boolean fields it finds out whether rows have texts.
 */
function withStoredForms(
  database: Database,
  { table: name, filters }: ListDeclaration,
  fields: Readonly<Record<string, Field>>,
  { columns }: Table,
): Record<string, Field> {
  const known = { ...fields }
  if (database.engine !== 'sqlite') return known
  for (const [key, field] of Object.entries(fields)) {
    const found = columns.get(field.column)
    const isTime = field.type === 'timeText' && filters.some((filter) => filter.field === key)
    if (!found || (!isTime && field.type !== 'boolean')) continue
    const values = sampleOf(database, name, field.column)
    if (isTime) {
      const stored = values.length > 0 ? timeFormOf(values) : formByDefault(found.byDefault)
      if (stored) known[key] = { ...field, stored }
    } else if (values.some((value) => typeof value === 'string')) known[key] = { ...field, words: true }
  }
  return known
}

/** Only texts have a form. Other values are null, because an integer may be too large for a JavaScript number. */
function sampleOf({ readConnection }: SqliteDatabase, table: string, column: string): unknown[] {
  return readConnection
    .all<{ value: unknown }>(
      `select case typeof(${quote(column)}) when 'text' then ${quote(column)} end as value from ${quoteTable(table)} where ${quote(column)} is not null limit ${sampleSize}`,
    )
    .map(({ value }) => value)
}

/** The form of a table without rows, by the column's default. */
function formByDefault(expression: string | undefined): TimeForm | undefined {
  return expression !== undefined &&
    /^\(?\s*(?:current_timestamp|datetime\s*\(\s*'now'\s*\))\s*\)?$/i.test(expression)
    ? sqliteForm
    : undefined
}

/** Checks the expansions of a list against their tables, and completes them with facts about these. */
async function checkExpansions(database: Database, list: ListDeclaration, own: Table) {
  const { engine } = database
  const checked = { expand: [] as Expansion[], faults: [] as string[], missing: [] as MissingIndex[] }
  for (const expansion of list.expand) {
    const { name, table, key } = expansion
    const other = await inspectTable(database, table)
    if (!other) {
      checked.expand.push(expansion)
      checked.faults.push(`there is no table or view ${table}, which ${name} is expanded from`)
      continue
    }
    const fields = knownFields(expansion.fields, other, engine)
    const columns = key.map((column) => other.columns.get(column))
    const loose = columns.some((column) => column?.loose)
    const operators = columns.map((column) => column?.operators)
    const of = { ...expansion, fields, loose, operators }
    checked.expand.push(of)
    checked.faults.push(...validateExpansion(expansion, other, list, engine))
    checked.missing.push(...missingManyIndex(expansion, other, engine))
    const named = [...list.sort, ...list.order.map((text) => text.replace(/^-/, ''))]
    const sorts = [...new Set(named)].filter((sort) => sort.startsWith(`${name}.`))
    if (sorts.length === 0 || checked.faults.length > 0) continue
    const references = await foreignKeys(database, list.table, table)
    const known = { ...list, expand: list.expand.map((one) => (one === expansion ? of : one)) }
    checked.faults.push(...joinFaults(known, { of, sorts }, [own, other], references, engine))
  }
  return checked
}

async function validateCollations(
  database: Database,
  { fields, expand }: ListDeclaration,
): Promise<string[]> {
  const declared = [fields, ...expand.map((expansion) => expansion.fields)].flatMap(Object.values<Field>)
  const names = [...new Set(declared.flatMap(({ collation }) => collation ?? []))]
  const known: readonly string[] = sqliteCollations
  const [missing, hint] =
    database.engine === 'postgres'
      ? [await missingCollations(database, names), '\\dOS in psql lists them']
      : [names.filter((name) => !known.includes(name)), `SQLite has ${known.join(', ')}`]
  return missing.map((name) => `there is no collation ${name}: ${hint}`)
}

function validateExpansion(
  { name, key, fields, from, many }: Expansion,
  other: Table,
  list: ListDeclaration,
  engine: Engine,
): string[] {
  const keyFields = key.map((column, index) => ({
    [`${name}'s key`]: { column, type: list.fields[from[index]!]!.type, description: '' },
  }))
  const faults = [fields, ...keyFields].flatMap((some) => validateColumns(other, some, engine))
  if (other.kind === 'table' && !many)
    faults.push(...uniqueFaults(other, key, `is not unique, and ${name} is expanded by it`))
  return faults
}

/** Checks what filters of a list need besides its table: text search configurations, or FTS5 tables. */
async function validateSearch(database: Database, list: ListDeclaration, table: Table): Promise<string[]> {
  const needsTable = ({ kind, index }: Filter): boolean =>
    kind === 'search' || (database.engine === 'sqlite' && index !== undefined && partKinds.has(kind))
  const filters = list.filters.filter(needsTable)
  if (filters.length === 0) return []
  if (database.engine === 'sqlite') return validateSearchTables(database, list, filters, table)
  const names = filters.flatMap(({ configuration }) => configuration ?? [])
  return (await missingConfigurations(database, names)).map(
    (name) => `there is no text search configuration ${name}: \\dF in psql lists them`,
  )
}

async function validateSearchTables(
  database: SqliteDatabase,
  list: ListDeclaration,
  filters: readonly Filter[],
  { rowids }: Table,
): Promise<string[]> {
  if (!rowids) return [`${list.table} is a view or has no rowid, which a search in an FTS5 table needs`]
  const faults: string[] = []
  const searchTableOf = ({ index = `${list.table}_search` }: Filter): string => index
  const columnOf = ({ field }: Filter): string => list.fields[field]!.column
  for (const filter of filters) {
    const { field } = filter
    const [index, column] = [searchTableOf(filter), columnOf(filter)]
    const found = await inspectTable(database, index)
    const hasColumn = [...(found?.columns.keys() ?? [])].some(
      (name) => name.toLowerCase() === column.toLowerCase(),
    )
    if (hasColumn) continue
    const columns = new Set(filters.filter((other) => searchTableOf(other) === index).map(columnOf))
    const tokenizer = partKinds.has(filter.kind) ? `, tokenize='trigram'` : ''
    faults.push(
      found
        ? `the FTS5 table ${index} has no column ${column} to search ${field} in`
        : `there is no FTS5 table ${index} to search ${field} in: create virtual table ${quote(index)} using fts5(${[...columns].map(quote).join(', ')}, content=${quote(list.table)}${tokenizer}); and triggers that update it (https://sqlite.org/fts5.html#external_content_tables)`,
    )
  }
  return faults
}

/** Completes fields with facts about the table. A view has no nullability: unless declared, its columns may be null. */
export function knownFields(
  fields: Readonly<Record<string, Field>>,
  table: Table,
  engine: Engine,
): Record<string, Field> {
  const isLite = engine === 'sqlite'
  const known = Object.entries(fields).map(([name, field]): [string, Field] => {
    const found = table.columns.get(field.column)
    const { type: ofColumn, collation: ownCollation } = found ?? {}
    const ignoresCase = isLite ? ownCollation === 'nocase' : ofColumn === 'citext' || ofColumn === 'uuid'
    const { collation, ...rest } = field
    const complete: Field = {
      ...rest,
      nullable: field.nullable ?? found?.nullable ?? true,
      type: isLite && field.type === 'timestamp' ? 'timeText' : field.type,
      operators: found?.operators,
      ...(!isLite && ofColumn === 'timestamp' && { stored: zonelessForm }),
      ...(ignoresCase && { ignoresCase }),
      ...(found?.asText !== undefined && { asText: found.asText }),
      lowering: found?.lowering,
      ...(found?.array !== undefined && { array: found.array }),
      ...(isLite && { mixed: true }),
      ...(collation !== undefined && collation !== ownCollation && { collation }),
    }
    return [name, complete]
  })
  return Object.fromEntries(known)
}

function validateColumns(
  { name: ofTable, columns, kind, forbidden }: Table,
  fields: Readonly<Record<string, Field>>,
  engine: Engine,
): string[] {
  if (forbidden)
    return [`the role of DATABASE_URL may not read ${ofTable}: grant select on ${quoteTable(ofTable)} to it`]
  return Object.entries(fields).flatMap(([name, { column, type, values = [] }]) => {
    const found = columns.get(column)
    if (!found)
      return `${ofTable} has no column ${column}, which the field ${name} is read from; it has ${[...columns.keys()].join(', ')}`
    const unknown = values.filter((value) => found.values?.includes(value) === false)
    if (unknown.length > 0)
      return `${ofTable}.${column} has no value ${unknown.join(', ')}, which the field ${name} lists; it has ${found.values!.join(', ')}`
    const fitting: readonly string[] = columnTypes[type][engine]
    // A computed column of a view has no type on SQLite.
    if (fitting.includes(found.type) || (engine === 'sqlite' && kind === 'view')) return []
    return `${ofTable}.${column} is ${found.type}, but the field ${name} of type ${type} needs ${fitting.join(' or ')}`
  })
}

/** Pages lose rows with a key that is not unique, and find no row after a null. */
function validateKey({ key, fields }: ListDeclaration, table: Table): string[] {
  const { kind, materialized, columns } = table
  const parts = key.map((name) => fields[name]!.column)
  if (kind === 'view' || !parts.every((column) => columns.has(column))) return []
  const nullable = materialized ? [] : parts.filter((column) => columns.get(column)!.nullable)
  return [
    ...uniqueFaults(table, parts, 'is the key and is not unique'),
    ...nullable.map((column) => `${table.name}.${column} is the key and may be null`),
  ]
}

/** A fault with the statement that mends it, unless a unique index has exactly these columns, in any order. */
function uniqueFaults({ name, indexes }: Table, key: readonly string[], fault: string): string[] {
  const isUnique = indexes.some(
    ({ unique, columns }) =>
      unique &&
      columns.length === key.length &&
      columns.every(({ column, collation }) => collation === undefined && key.includes(column)),
  )
  if (isUnique) return []
  const columns = key.length === 1 ? `${name}.${key[0]}` : `${name} (${key.join(', ')})`
  const index = quote(indexName(name, `${key.join('_')}_key`))
  return [
    `${columns} ${fault}: create unique index ${index} on ${quoteTable(name)} (${key.map(quote).join(', ')});`,
  ]
}
