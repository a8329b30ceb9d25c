import { Type, type TSchema } from 'typebox'

/** Parameters as the OpenAPI document shows them: query strings are never refused by their schema. */

/** What is meant, or any other text, which is no error. */
export function coerced(meant: TSchema & { description?: string; default?: unknown }) {
  const { description, default: fallback, ...rest } = meant
  const either = Type.Union([rest, Type.String()], {
    description: description!,
    ...(fallback !== undefined && { default: fallback }),
  })
  return Type.Unsafe<string>(either)
}

/** The `limit` that readLimit reads. */
export function limitParameter({ default: fallback, max }: { default: number; max: number }) {
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        maximum: max,
        default: fallback,
        description: `Items per page. What is no number, and 0, becomes ${fallback}; the rest loses its fraction and is clamped into 1 to ${max}.`,
      }),
    ),
  )
}

/** The `page` that readPage reads. */
export function pageParameter() {
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        default: 1,
        description: 'What is no number, or below 1, becomes 1; a fraction is cut off.',
      }),
    ),
  )
}
