import { Type, type TSchema } from 'typebox'
import { parseExactly } from '../json/exact.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { CursorKey, KeyValue } from '../paging/cursor-values.ts'
import { readDecimal } from '../paging/decimal.ts'
import { canonicalTime, InvalidTime, restorePlus, showTime } from '../paging/time.ts'
import { isStorableText } from '../storage/text.ts'
import type { Engine } from '../storage/query-runner.ts'
import { readTimeInForm, type TimeForm } from './stored-times.ts'
import type { ValuePosition } from './value-position.ts'

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
  schema(description: string): TSchema
}

const text = (description: string): TSchema => Type.String({ description })
const castOnSqlite = (type: string) => ({ sqlite: (operand: string) => `cast(${operand} as ${type})` })

export const fieldTypes: Record<FieldType, TypeRules> = {
  text: { cursor: 'text', read: readText, schema: text },
  enum: { cursor: 'text', read: readText, schema: text },
  uuid: {
    cursor: 'text',
    read: (text) => (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? { at: text } : undefined),
    schema: (description) => Type.String({ format: 'uuid', description }),
  },
  integer: {
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: exactInteger,
    toCursor: exactInteger,
    cursor: 'integer',
    read: readInteger,
    schema: (description) => Type.Integer({ description }),
  },
  bigint: {
    select: castOnSqlite('text'),
    bind: { ...castOnSqlite('integer'), postgres: (placeholder) => `${placeholder}::bigint` },
    cursor: 'text',
    read: readBigint,
    schema: (description) => Type.String({ pattern: '^-?\\d+$', description }),
  },
  number: {
    show: finiteOrNull,
    cursor: 'number',
    read: readNumber,
    schema: (description) => Type.Number({ description }),
  },
  real: {
    show: finiteOrNull,
    cursor: 'number',
    read: readReal,
    schema: (description) => Type.Number({ description }),
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
    schema: text,
  },
  boolean: {
    show: (value) => value === 1 || value === 't',
    cursor: 'any',
    read: (text) => (text === 'true' ? { at: 1 } : text === 'false' ? { at: 0 } : undefined),
    schema: (description) => Type.Boolean({ description }),
  },
  time: {
    // toUpperCase changes nothing, but flattens the concatenated string, which JSON.stringify writes faster.
    show: (value) => showTime(String(value)).toUpperCase(),
    cursor: 'time',
    read: (text) => readTime(text, (canonical) => canonical),
    schema: (description) => Type.String({ format: 'date-time', description }),
  },
  milliseconds: {
    bind: { postgres: (placeholder) => `${placeholder}::bigint` },
    show: (value) => isoTime(Number(value)),
    toCursor: exactInteger,
    cursor: 'integer',
    read: readMilliseconds,
    schema: (description) => Type.String({ format: 'date-time', description }),
  },
  timestamp: {
    show: (value) => showTimestamp(String(value)),
    cursor: 'any',
    read: (text) => readTime(text, (canonical) => canonical),
    schema: text,
  },
  timeText: {
    show: (value) => showTimestamp(String(value)),
    cursor: 'any',
    read(text, stored) {
      if (stored) return readTimeInForm(restorePlus(text), stored)
      return /^\d{4}-\d\d-\d\d/.test(text) ? readText(text) : undefined
    },
    schema: text,
  },
  date: {
    cursor: 'text',
    read: (text) =>
      /^\d{4}-\d\d-\d\d$/.test(text) ? readTime(text, (canonical) => canonical.slice(0, 10)) : undefined,
    schema: (description) => Type.String({ format: 'date', description }),
  },
  json: {
    // For arrays. It does not change json and jsonb.
    select: { postgres: (column) => `to_json(${column})` },
    show: (value) => showJson(String(value)),
    cursor: 'text',
    read: () => undefined,
    schema: (description) => Type.Unknown({ description }),
  },
}

function readText(text: string): ValuePosition {
  return isStorableText(text) ? { at: text } : undefined
}

/** @throws RangeError for an integer that a double does not hold exactly. */
function exactInteger(value: string | number): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new RangeError(`${value} is beyond 2^53: declare the field as bigint, which is a text in JSON`)
  return number
}

/** JSON has neither NaN nor infinities. */
function finiteOrNull(value: string | number): number | null {
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

function readNumber(text: string): ValuePosition {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

/** Rounds to four bytes: the 0.1 of a `real` column is not the 0.1 of a double. */
function readReal(text: string): ValuePosition {
  const position = readNumber(text)
  if (!position || !('at' in position)) return position
  const number = Math.fround(position.at as number)
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

function readInteger(text: string): ValuePosition {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return { beyond: number > 0 ? 'above' : 'below' }
  return Number.isInteger(number) ? { at: number } : { between: [Math.floor(number), Math.ceil(number)] }
}

const [lowestBigint, highestBigint] = [-(2n ** 63n), 2n ** 63n - 1n]

function readBigint(text: string): ValuePosition {
  const digits = text.trim()
  if (!/^[+-]?\d{1,400}$/.test(digits)) {
    const position = readInteger(text)
    if (position && 'at' in position) return { at: String(position.at) }
    return position && 'between' in position
      ? { between: [String(position.between[0]), String(position.between[1])] }
      : position
  }
  const number = BigInt(digits.replace(/^\+/, ''))
  if (number > highestBigint) return { beyond: 'above' }
  if (number < lowestBigint) return { beyond: 'below' }
  return { at: String(number) }
}

/** Keeps the text, so that no digit is lost. A number beyond the range of a double lies above or below all values. */
function readNumeric(text: string): ValuePosition {
  const position = readNumber(text)
  if (!position || !('at' in position)) return position
  return position.at === 0 || text.length > 400 ? position : { at: text.trim() }
}

function readTime(text: string, shape: (canonical: string) => KeyValue): ValuePosition {
  try {
    return { at: shape(canonicalTime(restorePlus(text))) }
  } catch (error) {
    if (error instanceof InvalidTime) return undefined
    throw error
  }
}

function readMilliseconds(text: string): ValuePosition {
  const position = readTime(text, (canonical) => canonical)
  if (!position || !('at' in position)) return position
  const canonical = String(position.at)
  const before = Date.parse(`${canonical.slice(0, 23)}Z`)
  return canonical.endsWith('000Z') ? { at: before } : { between: [before, before + 1] }
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

const utc = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?\+00$/
const zoned = /[+-]\d\d(?::?\d\d)?$/
/** An offset with seconds, which PostgreSQL writes for local mean time, before a zone had a standard time. */
const localMeanTime = /^(.+)([+-]\d\d:\d\d):(\d\d)$/

/** ISO 8601 in UTC, with microseconds if there are any. A time without a zone, `infinity` and years BC are shown as PostgreSQL writes them. */
function showTimestamp(stored: string): string {
  const parts = utc.exec(stored)
  if (parts) {
    const [, day, time, fraction = '.'] = parts
    return showTime(`${day}T${time}${fraction.padEnd(7, '0')}Z`)
  }
  try {
    const local = localMeanTime.exec(stored)
    if (local) return showTime(fromLocalMeanTime(local))
    if (zoned.test(stored.slice(10))) return showTime(canonicalTime(stored))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
  }
  return stored.replace(/^(\d{4,6}-\d\d-\d\d) (?=\d\d:)/, '$1T')
}

/** The canonical text of a time whose offset has seconds. @throws InvalidTime outside the years 0001 to 9999. */
function fromLocalMeanTime([, time = '', offset = '', seconds = '']: RegExpExecArray): string {
  const canonical = canonicalTime(`${time}${offset}`)
  const sign = offset.startsWith('-') ? 1 : -1
  const moved = isoTime(Date.parse(`${canonical.slice(0, 19)}Z`) + sign * Number(seconds) * 1_000)
  return canonicalTime(`${moved.slice(0, 19)}${canonical.slice(19)}`)
}
