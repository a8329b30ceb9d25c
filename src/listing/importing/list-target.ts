import { sql } from 'kysely'
import { ConfigurationError } from '../../config/environment.ts'
import { isRawNumber, parseExactly } from '../../json/exact.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { isStorableText, quote, quoteTable } from '../../storage/sql-text.ts'
import { isRefusedValue } from '../../storage/unavailable.ts'
import { checkList } from '../checking/check.ts'
import { inspectTable } from '../checking/table.ts'
import { allowedIn, fieldTypes, type FieldType } from '../field-types.ts'
import type { Field, ListDeclaration } from '../list.ts'
import { shown } from '../parameters.ts'
import { type ColumnValues, saveRows } from './rows.ts'
import { type ImportTarget, InvalidRecord } from './target.ts'

export interface ListImportOptions {
  /** Whether existing rows are updated from the file. */
  upsert?: boolean
  /** Whether to skip columns of the file that cannot be imported. */
  ignoreUnknown?: boolean
  /** The text of null in CSV. */
  null?: string
}

interface ListRow {
  key: string
  values: ColumnValues
}

/** The fields of a list that a file can have. */
interface Importable {
  fields: Readonly<Record<string, Field>>
  /** Fields that the table computes. */
  computed: ReadonlySet<string>
  key: readonly string[]
  engine: Engine
  ignoreUnknown: boolean
}

/**
 * Returns the target for importing files, such as the list's exports, into a declared list's table.
 * @throws ConfigurationError if the list does not fit the database, or is over a view
 */
export async function openListTarget(
  database: Database,
  declaration: ListDeclaration,
  { upsert = false, ignoreUnknown = false, null: nulls = '' }: ListImportOptions,
): Promise<ImportTarget<ListRow>> {
  const { engine } = database
  const { list, faults } = await checkList(database, declaration)
  const table = await inspectTable(database, list.table)
  const isView = table !== undefined && (table.kind === 'view' || table.materialized === true)
  const all = isView
    ? [...faults, `${list.table} is not a table: import into the tables that it reads`]
    : faults
  if (all.length > 0) throw new ConfigurationError(all.map((fault) => `${list.path}: ${fault}`))
  const fields = withoutForms(database, list)
  const computed = new Set(
    Object.keys(fields).filter((name) => table!.columns.get(fields[name]!.column)?.computed),
  )
  const importable = { fields, computed, key: list.key, engine, ignoreUnknown }
  const columns = Object.keys(fields)
    .filter((name) => !computed.has(name))
    .map((name) => fields[name]!.column)
  const rows = { engine, table: list.table, key: importable.key.map((name) => fields[name]!.column), upsert }
  return {
    csv: { checkHeader: (names) => checkHeader(importable, names), nulls, guarded: true },
    read: (record, _now, isText = false) => readRow(importable, record, isText),
    keyOf: ({ key }) => key,
    save: (tx, saved) =>
      saveRows(
        tx,
        rows,
        saved.map(({ values }) => values),
      ),
    rejection,
    ...(engine === 'postgres' && {
      // Otherwise a violated deferred constraint would only be found at the commit.
      begin: (tx: Tx) => sql`set constraints all immediate`.execute(tx),
      finish: (tx: Tx) => advanceSequences(tx, list.table, columns),
    }),
  }
}

/** An empty table on SQLite has no format of times yet, so the file's format is used. */
function withoutForms(database: Database, { table, fields }: ListDeclaration): ListDeclaration['fields'] {
  if (database.engine === 'postgres') return fields
  if (database.readConnection.get(`select 1 from ${quoteTable(table)} limit 1`)) return fields
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const { stored: _stored, ...rest } = field
      return [name, rest]
    }),
  )
}

/** @throws InvalidRecord for columns that cannot be imported, or if a key column is missing */
function checkHeader(importable: Importable, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new InvalidRecord(`has the column ${shown(JSON.stringify(twice))} twice`)
  checkNames(importable, names)
}

function checkNames({ fields, computed, key, ignoreUnknown }: Importable, names: readonly string[]): void {
  const missing = key.find((name) => !names.includes(name))
  if (missing !== undefined) throw new InvalidRecord(`has no ${missing}, which the key of the list needs`)
  if (ignoreUnknown) return
  for (const name of names) {
    if (!Object.hasOwn(fields, name))
      throw new InvalidRecord(
        `has ${shown(JSON.stringify(name))}, which is not a field of the list; its fields are ${Object.keys(fields).join(', ')}`,
      )
    if (computed.has(name)) throw new InvalidRecord(`has ${name}, which the table computes`)
  }
}

function readRow(
  importable: Importable,
  record: Readonly<Record<string, unknown>>,
  isText: boolean,
): ListRow {
  const { fields, computed, key, engine } = importable
  checkNames(importable, Object.keys(record))
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields))
    if (Object.hasOwn(record, name) && !computed.has(name))
      values[field.column] = readValue(name, field, record[name], { isText, engine })
  const ofKey = key.map((name) => values[fields[name]!.column])
  return { key: JSON.stringify(ofKey), values }
}

/** The JSON type, other than string, that a field accepts. */
const others: Partial<Record<FieldType, 'number' | 'boolean'>> = {
  integer: 'number',
  bigint: 'number',
  number: 'number',
  real: 'number',
  numeric: 'number',
  boolean: 'boolean',
}
const neverTexts: ReadonlySet<FieldType> = new Set(['integer', 'number', 'real', 'boolean'])

/** Years after 9999 or BC, and infinity, which only PostgreSQL has. */
const rareTime =
  /^(?:-?infinity|\d{5,7}-\d\d-\d\d(?:[ T][\d:.+-]{1,30})?|\d{4,7}-\d\d-\d\d(?:[ T][\d:.+-]{1,30})? BC)$/

/** The value of a field as the database stores it. @throws InvalidRecord with the field, the value and what is allowed */
function readValue(
  name: string,
  field: Field,
  given: unknown,
  { isText, engine }: { isText: boolean; engine: Engine },
): unknown {
  const { type, nullable, values } = field
  if (given === null || given === undefined) {
    if (nullable) return null
    throw new InvalidRecord(`${name} must not be null${isText ? ': the empty text is ""' : ''}`)
  }
  if (type === 'json') return readJson(name, given, { isText, engine })
  const isRaw = typeof given === 'object' && isRawNumber(given)
  const kind = isRaw ? 'number' : typeof given
  const text = isRaw ? given.rawJSON : typeof given === 'string' ? given : JSON.stringify(given)
  const takes = kind === 'string' ? isText || !neverTexts.has(type) : kind === others[type]
  const position =
    takes && isStorableText(text) && (values === undefined || values.includes(text))
      ? fieldTypes[type].read(text, field)
      : undefined
  // For filters, a bigint on SQLite also accepts fractions and doubles.
  if (position && 'at' in position && (type !== 'bigint' || typeof position.at === 'string'))
    // The text preserves a fraction's trailing zeros.
    return type === 'numeric' && engine === 'postgres' ? text.trim() : position.at
  const isDay = type === 'timestamp' || type === 'date'
  if (takes && isDay && engine === 'postgres' && rareTime.test(text)) return text
  throw new InvalidRecord(`${name} is ${shown(JSON.stringify(given))}, which is not ${allowedIn(field)}`)
}

function readJson(
  name: string,
  given: unknown,
  { isText, engine }: { isText: boolean; engine: Engine },
): unknown {
  const value = isText ? parseOrText(String(given)) : given
  try {
    const text = JSON.stringify(value)
    return engine === 'sqlite' ? text : value
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidRecord(`${name} is nested too deeply`)
    throw error
  }
}

/** An export writes a JSON string without quotes, unless its text is itself JSON. */
function parseOrText(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}

/** SQLSTATE: a key twice in one statement; a trigger's exception; a view's check; JSON with more levels than the server's stack. */
const rejections = new Set(['21000', 'P0001', '44000', '54001'])
/** Characters of a message of the database. */
const longestReason = 300

function rejection(error: unknown): string | undefined {
  const { code, message, detail } = error as { code?: string; message: string; detail?: string }
  if (!isRefusedValue(error) && !rejections.has(code ?? '')) return undefined
  // Other details would include all values of the row.
  const more = detail?.startsWith('Key ') ? `: ${detail}` : ''
  return `the database rejects the row: ${(message + more).slice(0, longestReason).toWellFormed()}`
}

/** Sets columns' sequences to the largest values, which the import wrote without using the sequences. */
async function advanceSequences(tx: Tx, table: string, columns: readonly string[]): Promise<void> {
  const name = quoteTable(table)
  for (const column of columns) {
    const found = await sql<{ sequence: string | null }>`
      select pg_get_serial_sequence(${name}, ${column}) as sequence`.execute(tx)
    const sequence = found.rows[0]?.sequence
    if (!sequence) continue
    const largest = sql.raw(`max(${quote(column)})`)
    await sql`select setval(${sequence}, ${largest})::text from ${sql.raw(name)}
      having ${largest} > (select last_value from ${sql.raw(sequence)})`.execute(tx)
  }
}
