import { Problem } from '../../errors.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import { fieldTypes, type FieldType } from '../field-types.ts'
import type { Field } from '../list.ts'

/** Types whose values have the same text in the database, in items and in query strings. */
export const keysetTypes: readonly FieldType[] = ['text', 'uuid', 'integer', 'bigint']

/** The cursor of the key `''`. No text of a query string that is a key holds U+0000, and clients take an empty cursor for none. */
const emptyKey = '\u0000'

/** Reads a key from an unsigned cursor. @throws Problem `invalid-cursor` for a text that is not a key. */
export function readKeysetCursor({ type }: Field, cursor: string): KeyValue {
  if (type === 'text' && cursor === emptyKey) return ''
  const position = cursor === '' ? undefined : fieldTypes[type].read(cursor)
  // Only the text that showKeysetCursor writes is accepted: `1e3` is not the key 1000.
  if (position && 'at' in position && String(position.at) === cursor) return position.at
  throw new Problem('invalid-cursor', {
    parameter: 'cursor',
    detail: 'The parameter `cursor` is not the key of an item.',
  })
}

export function showKeysetCursor({ type }: Field, value: string | number): string | number {
  return type === 'integer' ? Number(value) : String(value) || emptyKey
}
