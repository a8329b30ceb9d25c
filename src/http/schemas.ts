import { Type } from 'typebox'

/** ISO 8601, as toISOString writes it. */
export const DateTime = Type.String({ format: 'date-time' })

export const NullableText = Type.Union([Type.String(), Type.Null()])

/** A text or null, with a description. */
export const describedText = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })
