import { canonicalTime, InvalidTime, showTime } from './time.ts'

/** A key value in a cursor. Times are texts, because a Date would lose the microseconds. */
export type KeyValue = string | number | null

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
const notFinite = new Set<unknown>(['NaN', 'Infinity', '-Infinity'])
/** A time in the form that showTime returns. */
const shownTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:\d{3})?Z$/

/** The value in the JSON of a cursor. */
export function writeValue(value: KeyValue, { type }: CursorKey): KeyValue {
  if (type === 'time' && typeof value === 'string') return showTime(value)
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}

/** Reads a value from the JSON of a cursor; `undefined` when it is not of the key's type. */
export function readValue(value: unknown, key: CursorKey): KeyValue | undefined {
  // Keys of type `number` and `any` have these texts only for such numbers.
  if ((key.type === 'number' || key.type === 'any') && notFinite.has(value)) return Number(value)
  if (!isOfType(value, key)) return undefined
  return key.type === 'time' && typeof value === 'string' ? readShownTime(value) : value
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
