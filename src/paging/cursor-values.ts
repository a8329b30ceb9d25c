import { canonicalTime, InvalidTime, showTime } from './time.ts'

/**
 * A key value in a cursor. Times are texts, because a Date would lose the microseconds. An integer beyond 2^53 and a BLOB come
 * from SQLite, which stores values of any type in any column.
 */
export type KeyValue = string | number | bigint | Uint8Array | null

/** A value in a cursor's JSON that no plain JSON value could be told from. */
type Written = string | number | null | Partial<Record<'number' | 'integer' | 'blob' | 'text', string>>

export interface CursorKey {
  /** The field's name in the list's items. */
  name: string
  /**
   * `number` is any number, `integer` one that a double holds exactly. `time` is a canonical time (time.ts), which the cursor
   * holds as the item shows it. `any` is a text or a finite number, as the database returned it.
   */
  type: 'text' | 'number' | 'integer' | 'time' | 'any'
  nullable?: boolean
  /**
   * Whether the key is a column of a user's table. SQLite stores values of any type in it, and null in a primary key that is not
   * declared `not null`. Then every value that a row can have is accepted: the signature proves that one had it.
   */
  asStored?: boolean
}

/** Numbers that JSON cannot represent. */
const notFinite = new Set(['NaN', 'Infinity', '-Infinity'])
/** A time in the form that showTime returns. */
const shownTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:\d{3})?Z$/
const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** The value in the JSON of a cursor. */
export function writeValue(value: KeyValue, { type }: CursorKey): Written {
  if (typeof value === 'bigint') return { integer: String(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : { number: String(value) }
  if (typeof value === 'object') return value && { blob: Buffer.from(value).toString('base64') }
  // A column of times may hold other texts, which must come back unchanged.
  if (type === 'time') return canonical.test(value) ? showTime(value) : { text: value }
  return value
}

/** Reads a value from the JSON of a cursor; `undefined` when it is not of the key's type. */
export function readValue(value: unknown, key: CursorKey): KeyValue | undefined {
  if (typeof value === 'object' && value !== null) return readWritten(value, key)
  if (!isOfType(value, key)) return undefined
  return key.type === 'time' && typeof value === 'string' ? readShownTime(value) : value
}

function readWritten(written: object, { type, asStored }: CursorKey): KeyValue | undefined {
  const [[form, value] = [], ...others] = Object.entries<unknown>(written as Record<string, unknown>)
  if (typeof value !== 'string' || others.length > 0) return undefined
  if (form === 'number' && (asStored || type === 'number' || type === 'any'))
    return notFinite.has(value) ? Number(value) : undefined
  if (!asStored) return undefined
  if (form === 'integer') return /^-?\d{1,19}$/.test(value) ? BigInt.asIntN(64, BigInt(value)) : undefined
  if (form === 'blob') return Buffer.from(value, 'base64')
  return form === 'text' ? value : undefined
}

function readShownTime(text: string): string | undefined {
  // This service signed the cursor, so the form alone proves that the time is valid.
  if (shownTime.test(text)) return text.length === 24 ? `${text.slice(0, -1)}000Z` : text
  try {
    return canonicalTime(text)
  } catch (error) {
    if (error instanceof InvalidTime) return undefined
    throw error
  }
}

function isOfType(value: unknown, { type, nullable, asStored }: CursorKey): value is KeyValue {
  if (asStored) return value === null || typeof value === 'string' || Number.isFinite(value)
  if (value === null) return nullable === true
  if (type === 'text' || type === 'time' || (type === 'any' && typeof value === 'string'))
    return typeof value === 'string'
  return type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
}
