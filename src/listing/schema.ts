import { type TObject, type TSchema, Type } from 'typebox'
import { coerced, limitParameter, pageParameter } from '../paging/parameters.ts'
import { csvParameters, maxFilterValues } from './parameters.ts'
import { comparedField } from './filters.ts'
import {
  countModesOf,
  type Expansion,
  type Field,
  fieldOf,
  type Filter,
  keyText,
  type ListDeclaration,
  operators,
  shownFields,
} from './list.ts'
import { mostGroups, summaryChoices } from './summaries.ts'
import { closedObject, nullable, optionalText } from '../http/schemas/schemas.ts'
import type { FieldType } from './field-types.ts'

const text = (description: string): TSchema => Type.String({ description })
const dateTime = (description: string): TSchema => Type.String({ format: 'date-time', description })
const number = (description: string): TSchema => Type.Number({ description })

/**
 * The schema of a value of each type, for the description of a list. They are apart from the other rules of the types, because
 * commands that only check a configuration would load TypeBox's 370 modules for them.
 */
const fieldSchemas: Record<FieldType, (description: string) => TSchema> = {
  text,
  enum: text,
  uuid: (description) => Type.String({ format: 'uuid', description }),
  integer: (description) => Type.Integer({ description }),
  bigint: (description) => Type.String({ pattern: '^-?\\d+$', description }),
  number,
  real: number,
  numeric: text,
  boolean: (description) => Type.Boolean({ description }),
  time: dateTime,
  milliseconds: dateTime,
  timestamp: text,
  timeText: text,
  date: (description) => Type.String({ format: 'date', description }),
  json: (description) => Type.Unknown({ description }),
}

/** Types that may be NaN or infinite, which is null in JSON. */
const mayBeInfinite = new Set<Field['type']>(['number', 'real'])

/** The schema of a field. @param finite whether its numbers are known to be finite. */
function fieldSchema(field: Field, finite: boolean): TSchema {
  const { description, values, type } = field
  const schema = values ? Type.Enum([...values], { description }) : fieldSchemas[type](description)
  const mayBeNull = field.nullable || (!finite && mayBeInfinite.has(type))
  return mayBeNull ? nullable(schema, description) : schema
}

function shownSchemas(fields: Readonly<Record<string, Field>>, finite: boolean): Record<string, TSchema> {
  return Object.fromEntries(shownFields(fields).map((name) => [name, fieldSchema(fields[name]!, finite)]))
}

/** The schema of an item. Where clients may select fields, all fields are optional. */
export function itemSchema(list: ListDeclaration): TSchema {
  // The tables of the service have finite numbers only.
  const own = shownSchemas(list.fields, !list.choices)
  const others = list.expand.map((expansion) => [expansion.name, Type.Optional(expansionSchema(expansion))])
  return closedObject({
    ...(list.choices ? Type.Partial(Type.Object(own)).properties : own),
    ...Object.fromEntries(others),
  })
}

function expansionSchema({ fields, many, description }: Expansion): TSchema {
  const other = closedObject(shownSchemas(fields, false))
  if (!many) return Type.Union([other, Type.Null()], { description })
  const data = Type.Array(other, {
    maxItems: many.limit,
    description: `In the order ${many.order.join(',')}.`,
  })
  return closedObject({ data, hasMore: Type.Boolean() }, { description })
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

function paginationSchema({ limit: { max }, count, choices, countAtMost }: ListDeclaration): TSchema {
  const optional = (schema: TSchema): TSchema => (choices ? Type.Optional(schema) : schema)
  const total = Type.Integer({ minimum: 0 })
  const estimated = Type.Boolean({ description: 'Whether the total is an estimate.' })
  const isMore = Type.Literal(true, {
    description: `There are more rows than the total says: a filtered list is counted up to ${countAtMost}.`,
  })
  return Type.Object({
    page: Type.Integer({ minimum: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: max }),
    ...(count !== 'none' && { total: optional(total), totalPages: optional(total) }),
    hasNext: Type.Boolean(),
    ...(choices && count !== 'none' && { estimated: Type.Optional(estimated) }),
    ...(countAtMost !== undefined && { estimated: Type.Optional(isMore) }),
  })
}

function pageInfoSchema({ choices }: ListDeclaration): TSchema {
  return Type.Object({
    hasNextPage: Type.Boolean(),
    nextCursor: nullable(Type.String(), 'null on the last page'),
    ...(choices && {
      hasPreviousPage: Type.Boolean(),
      previousCursor: nullable(Type.String(), 'null on the first page'),
    }),
  })
}

function keysetSchema(list: ListDeclaration): TSchema {
  const description = "The last item's key; null on the last page."
  const [name, ...others] = list.key
  const type = others.length > 0 ? 'text' : fieldOf(list, name!).type
  return nullable(fieldSchemas[type](description), description)
}

/** The parameters of a list for the OpenAPI document. Every text is accepted (see `coerced`). */
export function querySchema(list: ListDeclaration): TObject {
  const count = Type.String({
    default: list.count,
    description: `How the total is counted: ${list.strict ? `${countModesOf(list).join(', ')}.` : 'exact, estimate or none. A mode that costs more than the default is ignored.'}`,
  })
  const hasCursor = list.pages.some((style) => style !== 'offset')
  const hasPage = list.pages.includes('offset')
  return Type.Object({
    limit: limitParameter(list.limit, list.strict),
    ...(hasPage && { page: pageParameter(list.strict) }),
    ...(hasCursor && { cursor: Type.Optional(Type.String({ minLength: 1, description: cursorText(list) })) }),
    ...(hasPage && list.choices && list.count !== 'none' && { count: Type.Optional(count) }),
    ...rowParameters(list),
    ...(list.choices && csvSchemas),
  })
}

const otherNames = ({ strict }: ListDeclaration): string =>
  strict ? 'Other names are an error.' : 'Other names are ignored.'

/** The parameters that select rows, order and fields. An export has only these. */
export function rowParameters(list: ListDeclaration): Record<string, TSchema> {
  const sort = Type.String({
    default: list.order.join(','),
    description: `Comma-separated fields, descending with a leading -: ${list.sort.join(', ')}. ${otherNames(list)}`,
  })
  return {
    ...(list.sort.length > 0 && { sort: Type.Optional(sort) }),
    ...itemParameters(list),
    ...filterParameters(list),
  }
}

/** The parameters of CSV. */
export const csvSchemas: Record<string, TSchema> = {
  bom: optionalText(csvParameters.bom),
  null: optionalText(csvParameters.null),
}

function filterParameters(list: ListDeclaration): Record<string, TSchema> {
  return Object.fromEntries(
    list.filters.map((filter) => [filter.parameter, Type.Optional(filterSchema(list, filter))]),
  )
}

/** The parameters of a list's summary. */
export function summaryParameters(list: ListDeclaration): Record<string, TSchema> {
  const names = Object.entries(summaryChoices(list)).filter(([, allowed]) => allowed.length > 0)
  const choices = names.map(([name, allowed]) => [
    name,
    optionalText(`Comma-separated: ${allowed.join(', ')}.`),
  ])
  const count = optionalText('`1` counts the rows of each group, as without other values.')
  return { ...Object.fromEntries(choices), count, ...filterParameters(list) }
}

const values = Type.Record(Type.String(), Type.Unknown())
const Group = closedObject({
  by: values,
  count: Type.Optional(Type.Integer({ minimum: 0 })),
  sum: Type.Optional(values),
  avg: Type.Optional(values),
  min: Type.Optional(values),
  max: Type.Optional(values),
})
/** The answer of a list's summary: values by the names in the parameters. */
export const Summary = closedObject({
  data: Type.Array(Group, { maxItems: mostGroups }),
  hasMore: Type.Boolean({ description: `Whether there are more than ${mostGroups} groups.` }),
})

/** The parameters that select an item's fields and expansions. */
export function itemParameters(list: ListDeclaration): Record<string, TSchema> {
  const fields = `Comma-separated fields to show: ${shownFields(list.fields).join(', ')}.${list.strict ? '' : ' Without any of these, all fields are shown.'}`
  const expand = `Comma-separated: ${list.expand.map(({ name }) => name).join(', ')}. ${otherNames(list)}`
  return {
    ...(list.choices && { fields: optionalText(fields) }),
    ...(list.expand.length > 0 && { expand: optionalText(expand) }),
  }
}

function cursorText(list: ListDeclaration): string {
  const { pages, choices } = list
  if (pages.includes('keyset'))
    return `Returns the items after this ${keyText(list)}. Omit it for the first page.`
  const cursor = choices
    ? 'The nextCursor or previousCursor of another page'
    : 'The nextCursor of the previous page'
  return `${cursor}, with the same filters and sort. Omit it for the first page.`
}

function filterSchema(list: ListDeclaration, filter: Filter): TSchema {
  const field = comparedField(list, filter)
  const description = [
    filter.description || effectOf(list, filter, field),
    valuesText(filter, field),
    groupText(list, filter),
  ]
    .filter((text) => text !== '')
    .join(' ')
  const { takes } = operators[filter.kind]
  // The specification allows any text for it.
  if (takes === 'boolean' && filter.kind !== 'positiveWhenTrue') return coerced(Type.Boolean({ description }))
  if (takes !== 'value' || shownAsText.has(field.type)) return Type.String({ description })
  return coerced(fieldSchemas[field.type](description))
}

function groupText({ filters }: ListDeclaration, { group }: Filter): string {
  if (group === undefined) return ''
  const names = filters.filter((other) => other.group === group).map(({ parameter }) => parameter)
  return `An item must pass one of the filters ${names.join(', ')} that the request has.`
}

/** Types whose values no schema distinguishes from other texts. */
const shownAsText = new Set<Field['type']>(['text', 'enum', 'numeric', 'timestamp', 'timeText'])

/** The description of a filter whose declaration has none. The name of a hidden field is not shown. */
export function effectOf(
  { strict }: Pick<ListDeclaration, 'strict'>,
  { kind, field, member }: Filter,
  { hidden }: Field,
): string {
  if (hidden) return ''
  const name = member === undefined ? field : `${field}.${member}`
  const optional = strict ? '' : ' $1'
  return operators[kind].effect.replace('{}', () => name).replace(/ \[([^[\]]+)\]$/, optional)
}

function valuesText({ kind }: Filter, { values }: Field): string {
  const { takes } = operators[kind]
  const form =
    takes === 'values'
      ? `Comma-separated or repeated, at most ${maxFilterValues}; write a comma within a value as \`\\,\`, or quote the value.`
      : ''
  return values && takes.startsWith('value') ? `${form} Values: ${values.join(', ')}.`.trim() : form
}
