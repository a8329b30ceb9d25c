import type { KeyValue } from '../paging/cursor.ts'
import { readCanonicalTime, restorePlus } from '../paging/time.ts'
import { isStorableText } from '../storage/sql-text.ts'
import type { Field } from './list.ts'

export function readText(text: string): ValuePosition {
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

export function readNumber(text: string): ValuePosition {
  const decimal = readDecimal(text)
  return decimal && doubles(decimal)
}

/** Rounds to four bytes: the 0.1 of a `real` column is not the 0.1 of a double. SQLite's columns have doubles. */
export function readReal(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
  const decimal = readDecimal(text)
  if (!decimal || mixed) return decimal && doubles(decimal)
  return amongDoubles(decimal, Math.fround, 2 ** -149, (2 - 2 ** -23) * 2 ** 127)
}

export function readInteger(text: string): ValuePosition {
  const decimal = readDecimal(text)
  const highest = BigInt(Number.MAX_SAFE_INTEGER)
  return decimal && mapped(amongIntegers(decimal, -highest, highest), Number)
}

const [lowestBigint, highestBigint] = [-(2n ** 63n), 2n ** 63n - 1n]

export function readBigint(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
  const decimal = readDecimal(text)
  if (!decimal || mixed) return decimal && amongSqliteNumbers(decimal)
  return mapped(amongIntegers(decimal, lowestBigint, highestBigint), String)
}

/** Digits that PostgreSQL's `numeric` has at most before and after the point. */
const [mostBefore, mostAfter] = [131_072, 16_383]

/** Keeps all digits. */
export function readNumeric(text: string, { mixed }: Pick<Field, 'mixed'>): ValuePosition {
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
export function readTime(text: string, shape = (canonical: string): KeyValue => canonical): ValuePosition {
  const canonical = readCanonicalTime(restorePlus(text))
  return canonical === undefined ? undefined : { at: shape(canonical) }
}

export function readMilliseconds(text: string): ValuePosition {
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
