import { parseExactly } from '../json/exact.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { CursorKey, KeyValue } from '../paging/cursor-values.ts'
import { restorePlus, showTime } from '../paging/time.ts'
import type { Engine } from '../storage/query-runner.ts'
import { readTimeInForm, type TimeForm } from './stored-times.ts'
import type { ValuePosition } from './value-position.ts'
import {
  readText,
  readNumber,
  readReal,
  readInteger,
  readBigint,
  readNumeric,
  readTime,
  readMilliseconds,
} from './field-readers.ts'
import { showTimestamp } from './shown-timestamp.ts'

/**
 * The type of a field. `time` is canonical text (paging/time.ts), `milliseconds` an integer since 1970. A double holds an `integer`
 * exactly; `bigint` and `numeric` are texts in JSON. `timestamp` is PostgreSQL's type, with or without a time zone. On SQLite,
 * which has no such type, it becomes `timeText`: a text that sorts as the times do. Filters compare it with texts of the form
 * that the table's rows have.
 */
export type FieldType =
  | 'text'
  | 'enum'
  | 'uuid'
  | 'integer'
  | 'bigint'
  | 'number'
  | 'real'
  | 'numeric'
  | 'boolean'
  | 'time'
  | 'milliseconds'
  | 'timestamp'
  | 'timeText'
  | 'date'
  | 'json'

export interface TypeRules {
  /** The SQL that reads a column, and the SQL around the placeholder of a value. By default the bare column and placeholder. */
  select?: Partial<Record<Engine, (column: string) => string>>
  bind?: Partial<Record<Engine, (placeholder: string) => string>>
  /** Converts a value from the database to JSON. By default it is used as it is. */
  show?: (value: string | number) => unknown
  /** Converts a value from the database to the value in a cursor. By default it is used as it is. */
  toCursor?: (value: string | number) => KeyValue
  cursor: CursorKey['type']
  /** Reads a text of the query string. @param stored how the column writes times, if that is known. */
  read(text: string, stored?: TimeForm): ValuePosition
}

/** Milliseconds from 1970 to the last time of a Date, and to the first. */
const longestTime = 8.64e15

const castOnSqlite = (type: string) => ({ sqlite: (operand: string) => `cast(${operand} as ${type})` })

export const fieldTypes: Record<FieldType, TypeRules> = {
  text: { cursor: 'text', read: readText },
  enum: { cursor: 'text', read: readText },
  uuid: {
    cursor: 'text',
    read: (text) => (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? { at: text } : undefined),
  },
  integer: {
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: exactInteger,
    toCursor: exactInteger,
    cursor: 'integer',
    read: readInteger,
  },
  bigint: {
    select: castOnSqlite('text'),
    // A column of SQLite may hold fractions among its integers. As an integer, the cursor of such a row would lie before it.
    bind: { ...castOnSqlite('numeric'), postgres: (placeholder) => `${placeholder}::bigint` },
    cursor: 'text',
    read: readBigint,
  },
  number: {
    show: finiteOrNull,
    cursor: 'number',
    read: readNumber,
  },
  real: {
    show: finiteOrNull,
    cursor: 'number',
    read: readReal,
  },
  numeric: {
    // Integers are read as texts, since a double may not hold them. Fractions are not: SQLite's cast to text loses digits.
    select: {
      sqlite: (column) =>
        `case typeof(${column}) when 'integer' then cast(${column} as text) else ${column} end`,
    },
    bind: castOnSqlite('numeric'),
    show: String,
    cursor: 'any',
    read: readNumeric,
  },
  boolean: {
    show: (value) => value === 1 || value === 't' || value === 'true',
    cursor: 'any',
    read: (text) => (text === 'true' ? { at: 1 } : text === 'false' ? { at: 0 } : undefined),
  },
  time: {
    // toUpperCase changes nothing, but flattens the concatenated string, which JSON.stringify writes faster.
    show: (value) => showTime(String(value)).toUpperCase(),
    cursor: 'time',
    read: (text) => readTime(text, (canonical) => canonical),
  },
  milliseconds: {
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: (value) =>
      isOtherText(value) || Math.abs(Number(value)) > longestTime ? value : isoTime(Number(value)),
    toCursor: exactInteger,
    cursor: 'integer',
    read: readMilliseconds,
  },
  timestamp: {
    show: (value) => showTimestamp(String(value)),
    cursor: 'any',
    read: (text, stored) =>
      stored ? readTimeInForm(restorePlus(text), stored) : readTime(text, (canonical) => canonical),
  },
  timeText: {
    show: (value) => showTimestamp(String(value)),
    cursor: 'any',
    read(text, stored) {
      if (stored) return readTimeInForm(restorePlus(text), stored)
      return /^\d{4}-\d\d-\d\d/.test(text) ? readText(text) : undefined
    },
  },
  date: {
    cursor: 'text',
    read: (text) =>
      /^\d{4}-\d\d-\d\d$/.test(text) ? readTime(text, (canonical) => canonical.slice(0, 10)) : undefined,
  },
  json: {
    // For arrays. It does not change json and jsonb.
    select: { postgres: (column) => `to_json(${column})` },
    show: (value) => showJson(String(value)),
    cursor: 'text',
    read: () => undefined,
  },
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
