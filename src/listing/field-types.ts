import { parseExactly } from '../json/exact.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { CursorKey, KeyValue } from '../paging/cursor.ts'
import { restorePlus, showTime } from '../paging/time.ts'
import type { Engine } from '../storage/query-runner.ts'
import { readTimeInForm, showTimestamp } from './stored-times.ts'
import type { Field } from './list.ts'
import {
  readBigint,
  readInteger,
  readMilliseconds,
  readNumber,
  readNumeric,
  readReal,
  readText,
  readTime,
  type ValuePosition,
} from './field-readers.ts'

/**
 * The types of fields, and the columns that each can be read from: PostgreSQL's types, and SQLite's affinities. `time` is canonical text
 * (paging/time.ts), `milliseconds` an integer since 1970. A double holds an `integer` exactly; `bigint` and `numeric` are texts in
 * JSON. `timestamp` is PostgreSQL's type, with or without a time zone. On SQLite, which has no such type, it becomes `timeText`: a
 * text that sorts as the times do. Filters compare it with texts of the form that the table's rows have.
 */
export const columnTypes = {
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
} as const

export type FieldType = keyof typeof columnTypes

export interface TypeRules {
  /** The SQL that reads a column. By default the bare column. */
  select?: Partial<Record<Engine, (column: string) => string>>
  /** The SQL around the placeholder of a value: on SQLite of a filter's only, on PostgreSQL of a stored value, too. */
  bind?: Partial<Record<Engine, (placeholder: string) => string>>
  /** Converts a value from the database to JSON. By default it is used as it is. */
  show?: (value: string | number) => unknown
  /** Converts a value from the database to the value in a cursor. By default it is used as it is. See `storedValue`. */
  toCursor?: (value: string | number) => KeyValue
  cursor: CursorKey['type']
  /** What a text of the query string must be, for an error. Default: any text. */
  form?: string
  /** Reads a text of the query string. */
  read(text: string, facts: Pick<Field, 'stored' | 'mixed'>): ValuePosition
}

/** Milliseconds from 1970 to the last time of a Date, and to the first. */
const longestTime = 8.64e15

/**
 * Reads SQLite's integers as digits, since a double may not hold them, and marks its texts with a quotation mark: a view may have
 * texts of digits. Fractions stay numbers, because a cast to text may lose digits.
 */
const digitsOnSqlite = {
  sqlite: (column: string) =>
    `case typeof(${column}) when 'integer' then cast(${column} as text) when 'text' then '"' || ${column} else ${column} end`,
}
const numericOnSqlite = { sqlite: (placeholder: string) => `cast(${placeholder} as numeric)` }

/** Booleans that programs write as texts, which SQLite stores in any column. */
export const words = {
  true: ['true', 'True', 'TRUE', 't', 'T'],
  false: ['false', 'False', 'FALSE', 'f', 'F'],
}

const double = { form: 'a number', show: finiteOrNull, cursor: 'number' } as const
const storedTime = {
  form: 'a time such as 2026-01-31T08:30:00Z',
  show: (value: string | number) => showTimestamp(String(value)),
  cursor: 'any',
} as const

export const fieldTypes: Record<FieldType, TypeRules> = {
  text: { cursor: 'text', read: readText },
  enum: { cursor: 'text', read: readText },
  uuid: {
    form: 'a UUID',
    cursor: 'text',
    read: (text) => (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? { at: text } : undefined),
  },
  integer: {
    form: 'an integer',
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: exactInteger,
    toCursor: exactInteger,
    cursor: 'integer',
    read: readInteger,
  },
  bigint: {
    form: 'an integer',
    select: digitsOnSqlite,
    bind: { ...numericOnSqlite, postgres: (placeholder) => `${placeholder}::bigint` },
    show: withoutMark,
    cursor: 'text',
    read: readBigint,
  },
  number: { ...double, read: readNumber },
  real: { ...double, read: readReal },
  numeric: {
    form: 'a number',
    select: digitsOnSqlite,
    bind: numericOnSqlite,
    show: withoutMark,
    cursor: 'any',
    read: readNumeric,
  },
  boolean: {
    show: (value) => {
      if (value === 1 || words.true.includes(String(value))) return true
      return value === 0 || words.false.includes(String(value)) ? false : value
    },
    cursor: 'any',
    read: (text) => (text === 'true' ? { at: 1 } : text === 'false' ? { at: 0 } : undefined),
  },
  time: {
    form: 'a time such as 2026-01-31T08:30:00Z',
    // toUpperCase changes nothing, but flattens the concatenated string, which JSON.stringify writes faster.
    show: (value) => showTime(String(value)).toUpperCase(),
    cursor: 'time',
    read: (text) => readTime(text),
  },
  milliseconds: {
    form: 'a time such as 2026-01-31T08:30:00Z',
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: (value) =>
      isOtherText(value) || Math.abs(Number(value)) > longestTime ? value : isoTime(Number(value)),
    toCursor: exactInteger,
    cursor: 'integer',
    read: readMilliseconds,
  },
  timestamp: {
    ...storedTime,
    read: (text, { stored }) => (stored ? readTimeInForm(restorePlus(text), stored) : readTime(text)),
  },
  timeText: {
    ...storedTime,
    read(text, { stored }) {
      if (stored) return readTimeInForm(restorePlus(text), stored)
      return /^\d{4}-\d\d-\d\d/.test(text) ? readText(text) : undefined
    },
  },
  date: {
    form: 'a date such as 2026-01-31',
    cursor: 'text',
    read: (text) =>
      /^\d{4}-\d\d-\d\d$/.test(text) ? readTime(text, (canonical) => canonical.slice(0, 10)) : undefined,
  },
  json: {
    select: {
      // For arrays. It does not change json and jsonb.
      postgres: (column) => `to_json(${column})`,
      // The functions jsonb() and jsonb_set() of SQLite return BLOBs.
      sqlite: (column) =>
        `case when typeof(${column}) = 'blob' and json_valid(${column}, 8) then json(${column}) else ${column} end`,
    },
    show: (value) => showJson(String(value)),
    cursor: 'text',
    read: () => undefined,
  },
}

/** Describes, for an error, the texts that are values of a field. */
export function allowedIn({ type, values }: Pick<Field, 'type' | 'values'>): string {
  if (type === 'boolean') return '`true` or `false`'
  if (values) return `one of ${values.join(', ')}`
  return fieldTypes[type].form ?? 'a text without the character U+0000'
}

/**
 * The value of a column as the database stores it, from what `select` read. Cursors hold this value, and statements compare columns
 * with it. On SQLite it has the storage class of the row, because texts sort above all numbers, and BLOBs above all texts.
 */
export function storedValue({ type, mixed }: Field, read: KeyValue): KeyValue {
  const { select, toCursor } = fieldTypes[type]
  if (!mixed)
    return toCursor && (typeof read === 'string' || typeof read === 'number') ? toCursor(read) : read
  if (typeof read !== 'string' || select?.sqlite !== digitsOnSqlite.sqlite) return read
  if (read.startsWith('"')) return read.slice(1)
  const number = Number(read)
  return Number.isSafeInteger(number) ? number : BigInt(read)
}

/** See `digitsOnSqlite`. */
function withoutMark(value: string | number): string {
  const text = String(value)
  return text.startsWith('"') ? text.slice(1) : text
}

/** Whether SQLite keeps a text in a column of integers because it is not a number. */
function isOtherText(value: string | number): boolean {
  return typeof value === 'string' && !/^-?\d+$/.test(value)
}

/** Fractions and texts, which SQLite keeps in a column of integers, stay as they are. @throws RangeError beyond 2^53 */
function exactInteger(value: string | number): string | number {
  if (isOtherText(value)) return value
  const number = Number(value)
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER)
    throw new RangeError(`${value} is beyond 2^53: declare the field as bigint, which is a text in JSON`)
  return number
}

/** JSON has neither NaN nor infinities. */
function finiteOrNull(value: string | number): number | null {
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

/** Parses JSON and keeps every digit of its numbers. SQLite may store a text that is not JSON; it is shown as a JSON string. */
function showJson(stored: string): unknown {
  try {
    return parseExactly(stored)
  } catch (error) {
    if (error instanceof SyntaxError) return stored
    throw error
  }
}
