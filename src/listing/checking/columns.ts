import type { Engine } from '../../storage/query-runner.ts'
import { quote, quoteTable } from '../../storage/sql-text.ts'
import type { FieldType } from '../field-types.ts'
import type { Field, ListDeclaration } from '../list.ts'
import { indexName } from '../names.ts'
import { zonelessForm } from '../stored-times.ts'
import type { Table, TableColumn } from './table.ts'

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
  json: { postgres: ['json', 'jsonb', 'array'], sqlite: ['text', 'numeric', 'blob'] },
}

/** Completes fields with facts about the table. A view has no nullability: unless declared, its columns may be null. */
export function knownFields(
  fields: Readonly<Record<string, Field>>,
  table: Table,
  engine: Engine,
): Record<string, Field> {
  const known = Object.entries(fields).map(([name, field]): [string, Field] => {
    const column = table.columns.get(field.column)
    const nullable = field.nullable ?? column?.nullable ?? true
    const type = engine === 'sqlite' && field.type === 'timestamp' ? 'timeText' : field.type
    const ignoresCase = column?.collation === 'nocase'
    const facts =
      engine === 'postgres' ? factsOfColumn(column) : { mixed: true, ...(ignoresCase && { ignoresCase }) }
    return [name, { ...field, nullable, type, ...facts }]
  })
  return Object.fromEntries(known)
}

/** What a type of PostgreSQL changes about the filters of its columns. */
function factsOfColumn(column: TableColumn | undefined): Pick<Field, 'stored' | 'ignoresCase' | 'operators'> {
  const { type, operators } = column ?? {}
  if (type === 'timestamp') return { stored: zonelessForm }
  const ignoresCase = type === 'citext' || type === 'uuid'
  return { ...(ignoresCase && { ignoresCase }), operators }
}

export function validateColumns(
  tableName: string,
  table: Table,
  fields: Readonly<Record<string, Field>>,
  engine: Engine,
): string[] {
  if (table.forbidden)
    return [
      `the role of DATABASE_URL may not read ${tableName}: grant select on ${quoteTable(tableName)} to it`,
    ]
  return Object.entries(fields).flatMap(([name, field]) => {
    const fault = columnFault(table, name, field, engine)
    return fault === undefined ? [] : [`${tableName}${fault}`]
  })
}

/** Returns a fault as the text after the table's name in the message, or `undefined`. */
function columnFault(
  { columns, kind }: Table,
  name: string,
  { column, type, values = [] }: Field,
  engine: Engine,
): string | undefined {
  const found = columns.get(column)
  if (!found)
    return ` has no column ${column}, which the field ${name} is read from; it has ${[...columns.keys()].join(', ')}`
  const unknown = values.filter((value) => found.values?.includes(value) === false)
  if (unknown.length > 0)
    return `.${column} has no value ${unknown.join(', ')}, which the field ${name} lists; it has ${found.values!.join(', ')}`
  const fitting = fits[type][engine]
  // A computed column of a view has no type on SQLite.
  if (fitting.includes(found.type) || (engine === 'sqlite' && kind === 'view')) return undefined
  return `.${column} is ${found.type}, but the field ${name} of type ${type} needs ${fitting.join(' or ')}`
}

/** Pages lose rows with a key that is not unique, and find no row after a null. */
export function validateKey(
  { table, key, fields }: ListDeclaration,
  { kind, materialized, columns, indexes }: Table,
): string[] {
  const { column } = fields[key]!
  const found = columns.get(column)
  if (kind === 'view' || !found) return []
  return [
    ...(isUnique(indexes, column)
      ? []
      : [`${table}.${column} is the key and is not unique: ${createUnique(table, column)}`]),
    ...(found.nullable && !materialized ? [`${table}.${column} is the key and may be null`] : []),
  ]
}

export function isUnique(indexes: Table['indexes'], column: string): boolean {
  return indexes.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0]!.column === column,
  )
}

export function createUnique(table: string, column: string): string {
  return `create unique index ${quote(indexName(table, `${column}_key`))} on ${quoteTable(table)} (${quote(column)});`
}
