import { parseExactly } from '../json/exact.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { CursorKey, KeyValue } from '../paging/cursor.ts'
import { restorePlus, showTime, readCanonicalTime } from '../paging/time.ts'
import type { Engine } from '../storage/query-runner.ts'
import { readTimeInForm, showTimestamp } from './stored-times.ts'
import type { Field } from './list.ts'
import { isStorableText } from '../storage/sql-text.ts'

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

function readText(text: string): ValuePosition {
  return isStorableText(text) ? { at: text } : undefined
}

/** A decimal number, exactly: digits without zeros at their ends, and how many of them stand before the point. */
interface Decimal {
  negative: boolean
  digits: string
  point: number
}

const decimalForm = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Reads `5`, `-2.7`, `.5`, `1e9`, in linear time. Spaces around it are allowed: a `+` in a query string is decoded to a space. */
function readDecimal(text: string): Decimal | undefined {
  const isSpace = (at: number): boolean => text.charCodeAt(at) === 32
  const [first, end] = span(text.length, isSpace)
  const [, sign, whole = '', fraction = '', exponent = '0'] = decimalForm.exec(text.slice(first, end)) ?? []
  const written = whole + fraction
  if (sign === undefined || written === '') return undefined
  const [start, stop] = span(written.length, (at) => written.charCodeAt(at) === 48)
  const digits = written.slice(start, stop)
  if (digits === '') return { negative: false, digits, point: 0 }
  return { negative: sign === '-', digits, point: whole.length - start + Number(exponent) }
}

/** What is left of a text without such characters at its ends. */
function span(length: number, isLeftOut: (at: number) => boolean): [number, number] {
  let [start, end] = [0, length]
  while (start < end && isLeftOut(start)) start += 1
  while (end > start && isLeftOut(end - 1)) end -= 1
  return [start, end]
}

type Neighbours<T> = { at: T } | { between: readonly [T, T] } | { beyond: 'above' | 'below' }

/** Turns a position around that was found without the sign. */
function mirrored<T>(negative: boolean, lower: T, upper: T, minus: (value: T) => T): Neighbours<T> {
  return { between: negative ? [minus(upper), minus(lower)] : [lower, upper] }
}

/** The place of a number among the integers of a range. */
function amongIntegers(
  { negative, digits, point }: Decimal,
  lowest: bigint,
  highest: bigint,
): Neighbours<bigint> {
  const beyond = { beyond: negative ? 'below' : 'above' } as const
  if (point > 20) return beyond
  const size = point <= 0 ? 0n : BigInt(digits.slice(0, point).padEnd(point, '0') || 0)
  const isWhole = digits.length <= point || digits === ''
  const lower = negative ? -size - (isWhole ? 0n : 1n) : size
  const upper = isWhole ? lower : lower + 1n
  if (upper > highest || lower < lowest) return beyond
  return isWhole ? { at: lower } : { between: [lower, upper] }
}

function mapped<T>(position: Neighbours<T>, map: (value: T) => KeyValue): ValuePosition {
  if ('at' in position) return { at: map(position.at) }
  return 'between' in position ? { between: [map(position.between[0]), map(position.between[1])] } : position
}

const numberOf = ({ negative, digits, point }: Decimal): number =>
  digits === '' ? 0 : Number(`${negative ? '-' : ''}${digits}e${point - digits.length}`)

/** The place of a number among the doubles, or among the numbers of four bytes, which `round` returns. */
function amongDoubles(
  decimal: Decimal,
  round: (number: number) => number,
  least: number,
  greatest: number,
): Neighbours<number> {
  const number = round(numberOf(decimal))
  const minus = (value: number): number => -value
  // Infinities are values, too: they are above the greatest number.
  if (!Number.isFinite(number)) return mirrored(decimal.negative, greatest, Infinity, minus)
  return number === 0 && decimal.digits !== '' ? mirrored(decimal.negative, 0, least, minus) : { at: number }
}

const doubles = (decimal: Decimal): Neighbours<number> =>
  amongDoubles(decimal, (number) => number, Number.MIN_VALUE, Number.MAX_VALUE)

function readNumber(text: string): ValuePosition {
  const decimal = readDecimal(text)
  return decimal && doubles(decimal)
}

/** Rounds to four bytes: the 0.1 of a `real` column is not the 0.1 of a double. SQLite's columns have doubles. */
function readReal(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
  const decimal = readDecimal(text)
  if (!decimal || mixed) return decimal && doubles(decimal)
  return amongDoubles(decimal, Math.fround, 2 ** -149, (2 - 2 ** -23) * 2 ** 127)
}

function readInteger(text: string): ValuePosition {
  const decimal = readDecimal(text)
  const highest = BigInt(Number.MAX_SAFE_INTEGER)
  return decimal && mapped(amongIntegers(decimal, -highest, highest), Number)
}

const [lowestBigint, highestBigint] = [-(2n ** 63n), 2n ** 63n - 1n]

function readBigint(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
  const decimal = readDecimal(text)
  if (!decimal || mixed) return decimal && amongSqliteNumbers(decimal)
  return mapped(amongIntegers(decimal, lowestBigint, highestBigint), String)
}

/** Digits that PostgreSQL's `numeric` has at most before and after the point. */
const [mostBefore, mostAfter] = [131_072, 16_383]

/** Keeps all digits. */
function readNumeric(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
  const decimal = readDecimal(text)
  if (!decimal) return readNotFinite(text.trim(), mixed)
  if (mixed) return amongSqliteNumbers(decimal)
  const { negative, digits, point } = decimal
  if (digits === '') return { at: '0' }
  const minus = (value: string): string => (value === '0' ? value : `-${value}`)
  if (point > mostBefore) return mirrored(negative, `9e${mostBefore - 1}`, 'Infinity', minus)
  if (digits.length - point > mostAfter) {
    const lower = BigInt(digits.slice(0, Math.max(0, point + mostAfter)) || 0)
    const written = (value: bigint): string => (value === 0n ? '0' : `${value}e-${mostAfter}`)
    return mirrored(negative, written(lower), written(lower + 1n), minus)
  }
  const exponent = point - digits.length
  const size = exponent === 0 ? digits : `${digits}e${exponent}`
  return { at: negative ? minus(size) : size }
}

/** The numbers that an item shows without digits. SQLite stores infinities, and null in place of NaN. */
function readNotFinite(text: string, mixed = false): ValuePosition {
  if (text === 'NaN') return mixed ? undefined : { at: text }
  if (text !== 'Infinity' && text !== '-Infinity') return undefined
  return { at: mixed ? Number(text) : text }
}

/** The place of a number among those of SQLite: integers of eight bytes, and doubles. */
function amongSqliteNumbers(decimal: Decimal): ValuePosition {
  const number = numberOf(decimal)
  const whole = amongIntegers(decimal, lowestBigint, highestBigint)
  // From 2^53 on, no double has a fraction.
  if ('at' in whole || ('between' in whole && Math.abs(number) >= 2 ** 53)) return mapped(whole, String)
  if (Math.abs(number) === edge) return besideIntegers(decimal)
  // A fraction that a double does not hold lies beside the integer.
  if ('between' in whole && Number.isInteger(number))
    return BigInt(number) === whole.between[0]
      ? { between: [number, nextDouble(number)] }
      : { between: [-nextDouble(-number), number] }
  return doubles(decimal)
}

function nextDouble(number: number): number {
  if (number === 0) return Number.MIN_VALUE
  const bits = new BigInt64Array(new Float64Array([number]).buffer)
  bits[0]! += number > 0 ? 1n : -1n
  return new Float64Array(bits.buffer)[0]!
}

/** The end of the integers of eight bytes, and the distance to the next double outside. */
const [edge, step] = [2 ** 63, 2 ** 11]

/** The place of a number that is outside the integers and whose double is their end. */
function besideIntegers(decimal: Decimal): ValuePosition {
  if (decimal.negative) return { between: [-edge - step, String(lowestBigint)] }
  const place = amongIntegers(decimal, 0n, highestBigint + BigInt(step))
  if ('between' in place && place.between[0] === highestBigint)
    return { between: [String(highestBigint), edge] }
  return 'at' in place && place.at === highestBigint + 1n ? { at: edge } : { between: [edge, edge + step] }
}

/** @param shape returns the value as the column has it */
function readTime(text: string, shape = (canonical: string): KeyValue => canonical): ValuePosition {
  const canonical = readCanonicalTime(restorePlus(text))
  return canonical === undefined ? undefined : { at: shape(canonical) }
}

function readMilliseconds(text: string): ValuePosition {
  const canonical = readCanonicalTime(restorePlus(text))
  if (canonical === undefined) return undefined
  const before = Date.parse(`${canonical.slice(0, 23)}Z`)
  return canonical.endsWith('000Z') ? { at: before } : { between: [before, before + 1] }
}

/**
 * Where a text of the query string lies among the values of a type: at one of them; between two neighbours, as 2.5 among the
 * integers; or above or below all of them. `undefined` for a text that is not a value of the type.
 */
export type ValuePosition =
  | { at: KeyValue }
  | { between: readonly [KeyValue, KeyValue] }
  | { beyond: 'above' | 'below' }
  | undefined
