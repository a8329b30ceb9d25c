import { Type, type TObjectOptions, type TProperties, type TSchema } from 'typebox'

/** ISO 8601, as toISOString writes it. */
export const DateTime = Type.String({ format: 'date-time' })
export const dateTime = (description: string) => Type.String({ format: 'date-time', description })

/** A value of a schema, or null. */
export const nullable = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

export const NullableText = nullable(Type.String())

/** Of a character that databases can store: not U+0000, and no half of a surrogate pair; see `isStorableText`. */
const storable = '[^\\u0000\\ud800-\\udfff]'

/**
 * The pattern of texts that databases can store unchanged. JSON Schema reads patterns with the flag `u`, with which the class
 * matches unpaired surrogates only.
 */
export const storablePattern = `^${storable}*$`

/**
 * A name that people read: 1 to 100 characters that databases can store, not only spaces. A text that is too long is matched, too,
 * so the parts of the pattern exclude each other: two that take the same characters would take quadratic time.
 */
export const DisplayName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: `^\\s*[^\\s\\u0000\\ud800-\\udfff]${storable}*$`,
  description: 'A name that is not blank and has no U+0000',
})

/** An optional parameter of a query string, or an optional field. */
export const optionalText = (description: string) => Type.Optional(Type.String({ description }))

/** An object without undeclared fields: a body with one is refused. */
export const closedObject = <P extends TProperties>(properties: P, options: TObjectOptions = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** All rows of a list without pages. */
export const listSchema = <S extends TSchema>(item: S) => closedObject({ data: Type.Array(item) })

/** The parameters of a path with one id. */
export const IdParams = Type.Object({ id: Type.String() })

/** The responses of a call that answers with 204. */
export const noContent = { 204: Type.Null() }

/** The body of a call that takes none, or `{}`. */
export const EmptyBody = closedObject({})
