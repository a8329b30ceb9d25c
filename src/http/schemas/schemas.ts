import { Type, type TSchema } from 'typebox'

/** ISO 8601, as toISOString writes it. */
export const DateTime = Type.String({ format: 'date-time' })

/** A value of a schema, or null. */
export const nullable = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

export const NullableText = nullable(Type.String())

/** An optional parameter of a query string, or an optional field. */
export const optionalText = (description: string) => Type.Optional(Type.String({ description }))
