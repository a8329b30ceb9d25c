import { Type, type TSchema } from 'typebox'
import { parseExactly } from '../json/exact.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { CursorKey, KeyValue } from '../paging/cursor-values.ts'
import { readDecimal } from '../paging/decimal.ts'
import { canonicalTime, InvalidTime, showTime } from '../paging/time.ts'
import { isStorableText } from '../storage/text.ts'
import type { Engine } from '../storage/query-runner.ts'
import { placeInForm, type TimeForm } from './stored-times.ts'

/**
 * What a field holds. `time` is canonical text (paging/time.ts), `milliseconds` an integer since 1970. `integer` fits a
 * double, `bigint` and `numeric` are shown as texts. `timestamp` is PostgreSQL's, with or without a zone; SQLite has none,
 * and there it is `timeText`, a text that sorts as the times do; filters compare with texts of the form that its rows have.
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

/**
 * What a text of the query string is among the values of a type: one of them; between two that follow each other, as 2.5
 * is among whole numbers; above or below all of them; or `undefined` for what is none.
 */
export type Place =
  | { at: KeyValue }
  | { between: readonly [KeyValue, KeyValue] }
  | { beyond: 'above' | 'below' }
  | undefined

export interface TypeRules {
  /** The SQL that reads a column, and the SQL around the placeholder of a value, where they are not the bare ones. */
  select?: Partial<Record<Engine, (column: string) => string>>
  bind?: Partial<Record<Engine, (place: string) => string>>
  /** How a value is shown that is not shown as it was read. */
  show?: (value: string | number) => unknown
  /** What a cursor carries of a value, where that is not what was read. */
  carry?: (value: string | number) => KeyValue
  cursor: CursorKey['type']
  /** @param stored how the column writes times, where that is known. */
  read(text: string, stored?: TimeForm): Place
  schema(description: string): TSchema
}

const text = (description: string): TSchema => Type.String({ description })
const castOnSqlite = (type: string) => ({ sqlite: (place: string) => `cast(${place} as ${type})` })

export const fieldTypes: Record<FieldType, TypeRules> = {
  text: { cursor: 'text', read: readText, schema: text },
  enum: { cursor: 'text', read: readText, schema: text },
  uuid: {
    cursor: 'text',
    read: (text) => (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? { at: text } : undefined),
    schema: (description) => Type.String({ format: 'uuid', description }),
  },
  integer: {
    bind: { postgres: (place) => `${place}::bigint` },
    show: exactInteger,
    carry: exactInteger,
    cursor: 'integer',
    read: readInteger,
    schema: (description) => Type.Integer({ description }),
  },
  bigint: {
    select: castOnSqlite('text'),
    bind: { ...castOnSqlite('integer'), postgres: (place) => `${place}::bigint` },
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
    // Whole numbers that no double holds come as texts; SQLite's own text of a fraction would lose digits.
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
    // A text that was put together of two is slow to write as JSON; this makes it one, and changes nothing.
    show: (value) => showTime(String(value)).toUpperCase(),
    cursor: 'time',
    read: (text) => readTime(text, (canonical) => canonical),
    schema: (description) => Type.String({ format: 'date-time', description }),
  },
  milliseconds: {
    bind: { postgres: (place) => `${place}::bigint` },
    show: (value) => isoTime(Number(value)),
    carry: exactInteger,
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
      if (stored) return placeInForm(withPlus(text), stored)
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
    show: (value) => showJson(String(value)),
    cursor: 'text',
    read: () => undefined,
    schema: (description) => Type.Unknown({ description }),
  },
}

function readText(text: string): Place {
  return isStorableText(text) ? { at: text } : undefined
}

/** @throws RangeError for an integer that a double does not hold exactly. */
function exactInteger(value: string | number): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new RangeError(`${value} is beyond 2^53: declare the field as bigint, which is shown as a text`)
  return number
}

/** JSON has neither NaN nor infinities. */
function finiteOrNull(value: string | number): number | null {
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

function readNumber(text: string): Place {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

/** A 0.1 of four bytes is not the 0.1 of eight: the value is that of four. */
function readReal(text: string): Place {
  const place = readNumber(text)
  if (!place || !('at' in place)) return place
  const number = Math.fround(place.at as number)
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

function readInteger(text: string): Place {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return { beyond: number > 0 ? 'above' : 'below' }
  return Number.isInteger(number) ? { at: number } : { between: [Math.floor(number), Math.ceil(number)] }
}

const [lowestBigint, highestBigint] = [-(2n ** 63n), 2n ** 63n - 1n]

function readBigint(text: string): Place {
  const digits = text.trim()
  if (!/^[+-]?\d{1,400}$/.test(digits)) {
    const place = readInteger(text)
    if (place && 'at' in place) return { at: String(place.at) }
    return place && 'between' in place
      ? { between: [String(place.between[0]), String(place.between[1])] }
      : place
  }
  const number = BigInt(digits.replace(/^\+/, ''))
  if (number > highestBigint) return { beyond: 'above' }
  if (number < lowestBigint) return { beyond: 'below' }
  return { at: String(number) }
}

/** As written, so that no digit is lost; what neither engine could hold is beyond, or as good as nothing. */
function readNumeric(text: string): Place {
  const place = readNumber(text)
  if (!place || !('at' in place)) return place
  return place.at === 0 || text.length > 400 ? place : { at: text.trim() }
}

/** A plus sign that was not escaped is a space in a query string: it comes back. */
function withPlus(text: string): string {
  return text.replace(/(:\d\d(?:\.\d+)?) (\d\d(?::?\d\d)?)$/, '$1+$2')
}

function readTime(text: string, shape: (canonical: string) => KeyValue): Place {
  try {
    return { at: shape(canonicalTime(withPlus(text))) }
  } catch (error) {
    if (error instanceof InvalidTime) return undefined
    throw error
  }
}

function readMilliseconds(text: string): Place {
  const place = readTime(text, (canonical) => canonical)
  if (!place || !('at' in place)) return place
  const canonical = String(place.at)
  const before = Date.parse(`${canonical.slice(0, 23)}Z`)
  return canonical.endsWith('000Z') ? { at: before } : { between: [before, before + 1] }
}

/** As it stands, with every digit of its numbers. A text that is no JSON, which SQLite keeps like any other, is shown as that text. */
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
/** Of a zone before it had a standard time: what a clock on the spot showed. */
const local = /^(.+)([+-]\d\d:\d\d):(\d\d)$/

/** ISO 8601 in UTC, and to the microsecond where it is that fine. What has no zone, no end or another era stays as it is. */
function showTimestamp(stored: string): string {
  const parts = utc.exec(stored)
  if (parts) {
    const [, day, time, fraction = '.'] = parts
    return showTime(`${day}T${time}${fraction.padEnd(7, '0')}Z`)
  }
  try {
    const onTheSpot = local.exec(stored)
    if (onTheSpot) return showTime(toTheMinute(onTheSpot))
    if (zoned.test(stored.slice(10))) return showTime(canonicalTime(stored))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
  }
  return stored.replace(/^(\d{4,6}-\d\d-\d\d) (?=\d\d:)/, '$1T')
}

/** PostgreSQL's time with an offset in seconds, as canonical text. @throws InvalidTime when it lies outside the years 0001 to 9999. */
function toTheMinute([, time = '', offset = '', seconds = '']: RegExpExecArray): string {
  const canonical = canonicalTime(`${time}${offset}`)
  const sign = offset.startsWith('-') ? 1 : -1
  const moved = isoTime(Date.parse(`${canonical.slice(0, 19)}Z`) + sign * Number(seconds) * 1_000)
  return canonicalTime(`${moved.slice(0, 19)}${canonical.slice(19)}`)
}
