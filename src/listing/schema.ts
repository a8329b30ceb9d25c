import { Type, type TSchema } from 'typebox'
import { coerced, limitParameter, pageParameter } from '../paging/parameters.ts'
import { fieldTypes } from './field-types.ts'
import { maxFilterValues } from './filters.ts'
import {
  fieldOf,
  shownFields,
  type Expansion,
  type Field,
  type Filter,
  type ListDeclaration,
} from './list.ts'

/** Types whose columns hold NaN and infinities, which JSON has no numbers for. */
const mayBeInfinite = new Set<Field['type']>(['number', 'real'])

/** A field as the OpenAPI document shows it. @param finite whether every number is known to be one. */
function fieldSchema(field: Field, finite: boolean): TSchema {
  const { description, nullable, values, type } = field
  const schema = values ? Type.Enum([...values], { description }) : fieldTypes[type].schema(description)
  return nullable || (!finite && mayBeInfinite.has(type))
    ? Type.Union([schema, Type.Null()], { description })
    : schema
}

function shownSchemas(fields: Readonly<Record<string, Field>>, finite: boolean): Record<string, TSchema> {
  return Object.fromEntries(shownFields(fields).map((name) => [name, fieldSchema(fields[name]!, finite)]))
}

/** The item of a list. Where clients choose, each field may be left out. */
export function itemSchema(list: ListDeclaration): TSchema {
  // Our own tables hold none.
  const own = shownSchemas(list.fields, !list.choices)
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
  const other = Type.Object(shownSchemas(fields, false), { additionalProperties: false })
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
  const count = Type.String({
    default: list.count,
    description: 'exact, estimate or none: what is told of the total. No more than the default is told.',
  })
  const walks = list.pages.some((style) => style !== 'offset')
  const numbered = list.pages.includes('offset')
  return Type.Object({
    limit: limitParameter(list.limit),
    ...(numbered && { page: pageParameter() }),
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

function filterSchema(list: ListDeclaration, filter: Filter): TSchema {
  const { kind, field: name } = filter
  const field = fieldOf(list, name)
  const description = [filter.description || effectOf(filter, field), valuesText(filter, field)]
    .filter((text) => text !== '')
    .join(' ')
  if (kind === 'flag' || kind === 'null') return coerced(Type.Boolean({ description }))
  if (ofTexts.has(kind) || shownAsText.has(field.type)) return Type.String({ description })
  return coerced(fieldTypes[field.type].schema(description))
}

/** Filters that take any text, and types whose values no schema tells from any other text. */
const ofTexts = new Set<Filter['kind']>(['in', 'positiveWhenTrue', 'prefix', 'search'])
const shownAsText = new Set<Field['type']>(['text', 'enum', 'numeric', 'timestamp', 'timeText'])

/** What a filter does, where its declaration does not say it. A field that is hidden is not named. */
function effectOf({ kind, field: name }: Filter, { hidden }: Field): string {
  if (hidden) return ''
  const effects: Record<Filter['kind'], string> = {
    equals: `Keeps items whose ${name} equals the value.`,
    in: `Keeps items whose ${name} is one of the values.`,
    atLeast: `Keeps items whose ${name} is this or above. What is no such value has no effect.`,
    atMost: `Keeps items whose ${name} is this or below. What is no such value has no effect.`,
    above: `Keeps items whose ${name} is above this. What is no such value has no effect.`,
    below: `Keeps items whose ${name} is below this. What is no such value has no effect.`,
    prefix: `Keeps items whose ${name} begins with the value.`,
    flag: `\`true\` or \`false\`: keeps items whose ${name} is that. Any other value has no effect.`,
    null: `\`true\` keeps items that have no ${name}, \`false\` those that have one. Any other value has no effect.`,
    positiveWhenTrue: `\`true\` keeps items whose ${name} is above 0. Any other value has no effect.`,
    search: `Keeps items whose ${name} holds all of these words.`,
  }
  return effects[kind]
}

function valuesText({ kind }: Filter, { values }: Field): string {
  const listed = kind === 'in' ? `Comma-separated, at most ${maxFilterValues}.` : ''
  return values && (kind === 'in' || kind === 'equals')
    ? `${listed} Values: ${values.join(', ')}.`.trim()
    : listed
}
