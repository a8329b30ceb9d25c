import { Type, type TSchema } from 'typebox'
import type { FieldType, Filter, ListDeclaration } from './list.ts'

const types: Record<FieldType, (description: string) => TSchema> = {
  text: (description) => Type.String({ description }),
  number: (description) => Type.Number({ description }),
  integer: (description) => Type.Integer({ description }),
  time: (description) => Type.String({ format: 'date-time', description }),
  milliseconds: (description) => Type.String({ format: 'date-time', description }),
}

/** The item of a list, as the OpenAPI document shows it. */
export function itemSchema(list: ListDeclaration): TSchema {
  const properties = Object.entries(list.fields).map(([name, { type, nullable, description }]) => {
    const schema = types[type](description)
    return [name, nullable ? Type.Union([schema, Type.Null()], { description }) : schema] as const
  })
  return Type.Object(Object.fromEntries(properties), { additionalProperties: false })
}

export function answerSchema(list: ListDeclaration): TSchema {
  const data = Type.Array(itemSchema(list), { maxItems: list.limit.max })
  if (list.paging === 'offset') {
    const pagination = Type.Object({
      page: Type.Integer({ minimum: 1 }),
      limit: Type.Integer({ minimum: 1, maximum: list.limit.max }),
      total: Type.Integer({ minimum: 0 }),
      totalPages: Type.Integer({ minimum: 0 }),
      hasNext: Type.Boolean(),
    })
    return Type.Object({ data, pagination })
  }
  const nextCursor = Type.Union([Type.String(), Type.Null()], { description: 'null on the last page' })
  return Type.Object({ data, pageInfo: Type.Object({ hasNextPage: Type.Boolean(), nextCursor }) })
}

/** The parameters, for the documentation: query strings are never refused by their schema. */
export function querySchema(list: ListDeclaration): TSchema {
  const { default: fallback, max } = list.limit
  const limit = coerced(
    Type.Integer({
      minimum: 1,
      maximum: max,
      default: fallback,
      description: `Items per page. What is no number, and 0, becomes ${fallback}; the rest loses its fraction and is clamped into 1 to ${max}.`,
    }),
  )
  const page = coerced(
    Type.Integer({
      minimum: 1,
      default: 1,
      description: 'What is no number, or below 1, becomes 1; a fraction is cut off.',
    }),
  )
  const cursor = Type.String({
    minLength: 1,
    description:
      'The nextCursor of the page before, with the same filters and sort. Leave it out for the first page.',
  })
  const sort = Type.String({
    default: list.order.join(','),
    description: `Comma-separated, descending with - in front: ${list.sort.join(', ')}. Others are dropped.`,
  })
  const own = list.filters.map(
    (filter) => [filter.parameter, Type.Optional(filterSchema(list, filter))] as const,
  )
  return Type.Object({
    limit: Type.Optional(limit),
    ...(list.paging === 'offset' ? { page: Type.Optional(page) } : { cursor: Type.Optional(cursor) }),
    ...(list.sort.length > 0 && { sort: Type.Optional(sort) }),
    ...Object.fromEntries(own),
  })
}

function filterSchema(list: ListDeclaration, { kind, field, description }: Filter): TSchema {
  if (kind === 'positiveWhenTrue') return Type.String({ description })
  const { type } = list.fields[field]!
  return type === 'text' ? types.text(description) : coerced(types[type](description))
}

/** What is meant, or any other text, which is no error. */
function coerced(meant: TSchema & { description?: string; default?: unknown }): TSchema {
  const { description, default: fallback, ...rest } = meant
  return Type.Union([rest, Type.String()], {
    description: description!,
    ...(fallback !== undefined && { default: fallback }),
  })
}
