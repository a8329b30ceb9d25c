import { Type, type TProperties } from 'typebox'
import { Problem } from '../../errors.ts'
import { storablePattern } from '../../http/schemas/schemas.ts'
import { canonicalTime, InvalidTime } from '../../paging/time.ts'

/** A text of `min` to `max` UTF-16 code units. Cursors contain sort keys, so their length must have a bound. */
export function boundedText(min: number, max: number, description: string) {
  return Type.String({ minLength: min, maxLength: max, pattern: storablePattern, description })
}

export const idField = boundedText(1, 200, 'Unique id')
export const optionalId = Type.Optional(idField)
const time = Type.String({
  maxLength: 64,
  description: 'ISO 8601 with any offset and up to microseconds',
})

export const optionalTime = Type.Optional(time)

/** The body of a change of an item with these fields. */
export const changeOf = <F extends TProperties>(fields: F) =>
  Type.Partial(Type.Object({ ...fields, createdAt: time }), { additionalProperties: false })

/** The canonical text of a body's `createdAt`. @throws Problem `invalid-body` with the reason. */
export function readTime(text: string): string {
  try {
    return canonicalTime(text)
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    throw new Problem('invalid-body', { detail: `/createdAt ${error.message}.`, pointer: '/createdAt' })
  }
}
