import { Problem } from '../../errors.ts'
import type { KeyValue } from '../../paging/cursor-values.ts'
import { fieldTypes, type FieldType } from '../field-types.ts'
import type { Field } from '../list.ts'

/** Types whose values are the same text for the database, in an item and in a query string. */
export const keysetTypes: readonly FieldType[] = ['text', 'uuid', 'integer', 'bigint']

/** A key as a plain cursor. @throws Problem `invalid-cursor` when it is none. */
export function readKeysetCursor({ type }: Field, cursor: string): KeyValue {
  const place = cursor === '' ? undefined : fieldTypes[type].read(cursor)
  // Written as it was given, or else it was not given: `1e3` is no id.
  if (place && 'at' in place && String(place.at) === cursor) return place.at
  throw new Problem('invalid-cursor', {
    parameter: 'cursor',
    detail: 'The parameter `cursor` is not the key of an item.',
  })
}

export function showKeysetCursor({ type }: Field, value: string | number): string | number {
  return type === 'integer' ? Number(value) : String(value)
}
