import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { canonicalTime, InvalidTime } from '../../paging/time.ts'

/**
 * Neither U+0000 nor half of a surrogate pair, which no database can give back. With the flag `u`, under which patterns of
 * JSON Schema are read, the class matches unpaired surrogates only.
 */
const storable = '^[^\\u0000\\ud800-\\udfff]*$'

/** A text of `least` to `most` UTF-16 code units. Keys are carried in cursors, so their length is bounded. */
export function boundedText(least: number, most: number, description: string) {
  return Type.String({ minLength: least, maxLength: most, pattern: storable, description })
}

export const idField = boundedText(1, 200, 'Unique id')
export const timeField = Type.String({
  maxLength: 64,
  description: 'ISO 8601 with any offset, up to microseconds, which are kept',
})

/** The canonical text of a body's `createdAt`. @throws Problem `invalid-body` that says why it is no time. */
export function readTime(text: string): string {
  try {
    return canonicalTime(text)
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    throw new Problem('invalid-body', { detail: `/createdAt ${error.message}.`, pointer: '/createdAt' })
  }
}
