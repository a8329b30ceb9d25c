import { storedValue, fieldTypes, type FieldType } from '../field-types.ts'
import { invalidCursor, type KeyValue, readValue, writeValue } from '../../paging/cursor.ts'
import { joinKey, splitKey, type SortKey, type Field } from '../list.ts'
import type { Query } from '../query.ts'
import type { Row } from '../standby-reader.ts'
import type { PageStyle } from '../config.ts'

interface PageOf<Style extends PageStyle> {
  style: Style
  query: Query
  rows: readonly Row[]
  limit: number
}

export interface CursorPage extends PageOf<'cursor'> {
  /** `null` on the last page. */
  nextCursor: string | null
  /** `null` on the first page, and in lists that only go forward. */
  previousCursor: string | null
}

export interface KeysetPage extends PageOf<'keyset'> {
  /** The key of the last item; `null` on the last page. */
  nextCursor: string | number | null
}

export interface OffsetPage extends PageOf<'offset'> {
  page: number
  hasNext: boolean
  /** `undefined` when rows were not counted. */
  total: number | undefined
  estimated: boolean
}

export type Page = CursorPage | KeysetPage | OffsetPage

/** The values of the order's keys in a row, as cursors hold them. */
export function keyOf(query: Query, order: readonly SortKey[], row: Row): KeyValue[] {
  return order.map(({ name, field }) => storedValue(field, row[query.columns.indexOf(name)]!))
}

/** Types whose values have the same text in the database, in items and in query strings. */
export const keysetTypes: readonly FieldType[] = ['text', 'uuid', 'integer', 'bigint']

/**
 * Begins the cursor of a key that is no plain text of a query string: nothing follows for `''`, since clients take an empty cursor
 * for none. For keys of another type than the field's, which SQLite may store, the JSON of a signed cursor's value follows.
 */
const escape = '\u0000'

/** Reads a key from an unsigned cursor. @throws Problem `invalid-cursor` for a text that is not a key. */
export function readKeysetCursor(order: readonly SortKey[], cursor: string): KeyValue[] {
  const parts = order.length === 1 ? [cursor] : splitKey(cursor)
  const key = order.map(({ field }, index) => readPart(field, parts[index] ?? ''))
  if (parts.length === key.length && key.every((part) => part !== undefined)) return key
  throw invalidCursor('is not the key of an item')
}

function readPart(field: Field, text: string): KeyValue | undefined {
  return text.startsWith(escape) ? readEscaped(field, text.slice(1)) : readPlain(field, text)
}

/** Only the text that showKeysetCursor writes is accepted: `1e3` is not the key 1000. */
function readPlain(field: Field, text: string): KeyValue | undefined {
  const position = text === '' ? undefined : fieldTypes[field.type].read(text, field)
  return position && 'at' in position && String(position.at) === text
    ? storedValue(field, position.at)
    : undefined
}

function readEscaped({ type, mixed }: Field, json: string): KeyValue | undefined {
  if (json === '') return type === 'text' ? '' : undefined
  if (!mixed) return undefined
  try {
    return readValue(JSON.parse(json), { name: 'key', type: fieldTypes[type].cursor, asStored: true })
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

export function showKeysetCursor(order: readonly SortKey[], key: readonly KeyValue[]): string | number {
  if (order.length === 1) return showPart(order[0]!.field, key[0]!)
  return joinKey(order.map(({ field }, index) => String(showPart(field, key[index]!))))
}

function showPart(field: Field, key: KeyValue): string | number {
  const { type } = field
  if (type === 'text' && key === '') return escape
  const plain = type === 'integer' ? key : String(key)
  if (key !== null && typeof plain !== 'object' && readPlain(field, String(plain)) === key)
    return plain as string | number
  return `${escape}${JSON.stringify(writeValue(key, { name: 'key', type: fieldTypes[type].cursor }))}`
}
