import { Type, type TSchema } from 'typebox'
import { readLimit } from './limit.ts'
import type { PageRequest } from './page.ts'

/**
 * A parameter in the OpenAPI document that is described by a schema and accepts any text: an invalid value gets the default, not
 * an error.
 */
export function coerced(schema: TSchema & { description?: string; default?: unknown }) {
  const { description, default: fallback, ...rest } = schema
  const either = Type.Union([rest, Type.String()], {
    description: description!,
    ...(fallback !== undefined && { default: fallback }),
  })
  return Type.Unsafe<string>(either)
}

/** The items per page of most lists. */
const usualLimits = { default: 20, max: 100 }

/** The parameter that readLimit reads. */
export function limitParameter({ default: fallback, max } = usualLimits) {
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        maximum: max,
        default: fallback,
        description: `Items per page. A fraction is cut off, and the number is clamped to 1 to ${max}. 0, or a text that is not a number, becomes ${fallback}.`,
      }),
    ),
  )
}

/** The parameters of a list with cursors, which `readPageRequest` reads. */
export function pageParameters(limits = usualLimits) {
  const cursor = Type.String({ minLength: 1, description: 'The nextCursor of the previous page' })
  return { limit: limitParameter(limits), cursor: Type.Optional(cursor) }
}

/** Never throws: the list checks the cursor. */
export function readPageRequest(
  { limit, cursor }: { limit?: string | undefined; cursor?: string | undefined },
  limits = usualLimits,
): PageRequest {
  return { limit: readLimit(limit, limits), cursor }
}

/** The parameter that readPage reads. */
export function pageParameter() {
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        default: 1,
        description:
          'The number of the page. A fraction is cut off. A number below 1, or a text that is not a number, becomes 1.',
      }),
    ),
  )
}
