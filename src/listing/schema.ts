import { Type, type TSchema } from 'typebox'
import { fieldTypes } from './field-types.ts'
import { mostListed } from './filters.ts'
import {
  fieldOf,
  shownFields,
  type Expansion,
  type Field,
  type Filter,
  type ListDeclaration,
} from './list.ts'

/** A field as the OpenAPI document shows it. */
function fieldSchema(field: Field): TSchema {
  const { description, nullable, values, type } = field
  const schema = values ? Type.Enum([...values], { description }) : fieldTypes[type].schema(description)
  return nullable ? Type.Union([schema, Type.Null()], { description }) : schema
}

function shownSchemas(fields: Readonly<Record<string, Field>>): Record<string, TSchema> {
  return Object.fromEntries(shownFields(fields).map((name) => [name, fieldSchema(fields[name]!)]))
}

/** The item of a list. Where clients choose, each field may be left out. */
export function itemSchema(list: ListDeclaration): TSchema {
  const own = shownSchemas(list.fields)
  const chosen = Object.entries(own).map(([name, schema]) => [
    name,
    list.choices ? Type.Optional(schema) : schema,
  ])
  const others = list.expand.map((expansion) => [expansion.name, Type.Optional(expansionSchema(expansion))])
  return Type.Object(Object.fromEntries([...chosen, ...others]) as Record<string, TSchema>, {
    additionalProperties: false,
  })
}

function expansionSchema({ fields, many, description }: Expansion): TSchema {
  const other = Type.Object(shownSchemas(fields), { additionalProperties: false })
  if (!many) return Type.Union([other, Type.Null()], { description })
  const data = Type.Array(other, {
    maxItems: many.limit,
    description: `In the order ${many.order.join(',')}.`,
  })
  return Type.Object({ data, hasMore: Type.Boolean() }, { description, additionalProperties: false })
}

export function answerSchema(list: ListDeclaration): TSchema {
  const data = Type.Array(itemSchema(list), { maxItems: list.limit.max })
  const [first, ...others] = list.pages.map((style) => {
    if (style === 'offset') return Type.Object({ data, pagination: paginationSchema(list) })
    return style === 'cursor'
      ? Type.Object({ data, pageInfo: pageInfoSchema(list) })
      : Type.Object({ data, nextCursor: keysetSchema(list) })
  })
  return others.length === 0 ? first! : Type.Union([first!, ...others])
}

function paginationSchema({ limit: { max }, count, choices }: ListDeclaration): TSchema {
  const optional = (schema: TSchema): TSchema => (choices ? Type.Optional(schema) : schema)
  const total = Type.Integer({ minimum: 0 })
  return Type.Object({
    page: Type.Integer({ minimum: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: max }),
    ...(count !== 'none' && { total: optional(total), totalPages: optional(total) }),
    hasNext: Type.Boolean(),
    ...(choices &&
      count !== 'none' && {
        estimated: Type.Optional(Type.Boolean({ description: 'Whether the total is a guess.' })),
      }),
  })
}

const cursorSchema = (description: string): TSchema =>
  Type.Union([Type.String(), Type.Null()], { description })

function pageInfoSchema({ choices }: ListDeclaration): TSchema {
  return Type.Object({
    hasNextPage: Type.Boolean(),
    nextCursor: cursorSchema('null on the last page'),
    ...(choices && {
      hasPreviousPage: Type.Boolean(),
      previousCursor: cursorSchema('null on the first page'),
    }),
  })
}

function keysetSchema(list: ListDeclaration): TSchema {
  const description = "The last item's key; null on the last page."
  return Type.Union([fieldTypes[fieldOf(list, list.key).type].schema(description), Type.Null()], {
    description,
  })
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
  const count = Type.String({
    default: list.count,
    description: 'exact, estimate or none: what is told of the total. No more than the default is told.',
  })
  const walks = list.pages.some((style) => style !== 'offset')
  const numbered = list.pages.includes('offset')
  return Type.Object({
    limit: Type.Optional(limit),
    ...(numbered && { page: Type.Optional(page) }),
    ...(walks && { cursor: Type.Optional(Type.String({ minLength: 1, description: cursorText(list) })) }),
    ...(numbered && list.choices && list.count !== 'none' && { count: Type.Optional(count) }),
    ...rowParameters(list),
  })
}

/** The parameters that say which rows, in which order, and how much of them; a stream of all rows takes no others. */
export function rowParameters(list: ListDeclaration): Record<string, TSchema> {
  const sort = Type.String({
    default: list.order.join(','),
    description: `Comma-separated, descending with - in front: ${list.sort.join(', ')}. Others are dropped.`,
  })
  const fields = Type.String({
    description: `Comma-separated, those to show: ${shownFields(list.fields).join(', ')}. Without one of them, all.`,
  })
  const expand = Type.String({
    description: `Comma-separated: ${list.expand.map(({ name }) => name).join(', ')}. Others are dropped.`,
  })
  const own = list.filters.map(
    (filter) => [filter.parameter, Type.Optional(filterSchema(list, filter))] as const,
  )
  return {
    ...(list.sort.length > 0 && { sort: Type.Optional(sort) }),
    ...(list.choices && { fields: Type.Optional(fields) }),
    ...(list.expand.length > 0 && { expand: Type.Optional(expand) }),
    ...Object.fromEntries(own),
  }
}

function cursorText({ pages, choices, key }: ListDeclaration): string {
  if (pages.includes('keyset')) return `Only items behind this ${key}. Leave it out for the first page.`
  const cursor = choices
    ? 'The nextCursor or previousCursor of another page'
    : 'The nextCursor of the page before'
  return `${cursor}, with the same filters and sort. Leave it out for the first page.`
}

function filterSchema(list: ListDeclaration, { kind, field, description }: Filter): TSchema {
  if (kind === 'flag' || kind === 'null') return coerced(Type.Boolean({ description }))
  if (kind === 'in')
    return Type.String({ description: `${description} Comma-separated, at most ${mostListed}.`.trim() })
  const { type } = fieldOf(list, field)
  if (kind === 'positiveWhenTrue' || kind === 'prefix' || kind === 'search' || type === 'text')
    return Type.String({ description })
  return coerced(fieldTypes[type].schema(description))
}

/** What is meant, or any other text, which is no error. */
function coerced(meant: TSchema & { description?: string; default?: unknown }): TSchema {
  const { description, default: fallback, ...rest } = meant
  return Type.Union([rest, Type.String()], {
    description: description!,
    ...(fallback !== undefined && { default: fallback }),
  })
}
