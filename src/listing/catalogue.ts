import { Type, type Static, type TSchema } from 'typebox'
import { mayCall } from '../http/access/access.ts'
import type { Principal } from '../http/access/principal.ts'
import { type App, route } from '../http/app.ts'
import { exportFormats, type ExportFormat } from './export.ts'
import { fieldTypes } from './field-types.ts'
import { comparedField, filterKinds } from './filters.ts'
import { fieldOf, shownFields, type Field, type ListDeclaration } from './list.ts'
import { listAccess } from './routes.ts'
import { effectOf } from './schema.ts'
import { summaryChoices } from './summaries.ts'
import { closedObject, listSchema, nullable } from '../http/schemas/schemas.ts'

/** The bodies of the calls that write a list: `POST path`, `PATCH path/{key}` and `DELETE path/{key}`. */
export interface ListWrites {
  create: TSchema
  change: TSchema
}

/** A list and what can be written. */
export interface CataloguedList {
  list: ListDeclaration
  writes?: ListWrites
}

const enumOf = <T extends string>(record: Readonly<Record<T, unknown>>) =>
  Type.Enum(Object.keys(record) as T[])

const names = Type.Array(Type.String())

const FieldView = closedObject({
  name: Type.String(),
  type: enumOf(fieldTypes),
  nullable: Type.Boolean(),
  values: Type.Optional(Type.Array(Type.String(), { description: 'All values of an `enum`' })),
  description: Type.String(),
})

const FilterView = closedObject({
  parameter: Type.String({ description: 'The parameter of the query string' }),
  operator: enumOf(filterKinds),
  field: nullable(Type.String(), 'Null for a field that is not shown'),
  type: enumOf(fieldTypes),
  values: Type.Optional(Type.Array(Type.String())),
  description: Type.String(),
})

const ExpansionView = closedObject({
  name: Type.String(),
  from: nullable(Type.Array(Type.String()), 'Null if one of the fields is not shown'),
  many: Type.Boolean({ description: 'Whether an item has several: `{data, hasMore}`' }),
  fields: Type.Array(FieldView),
  description: Type.String(),
})

const WritesView = closedObject({
  create: Type.Unknown({ description: 'The JSON Schema of the body of `POST path`' }),
  change: Type.Unknown({ description: 'The JSON Schema of the body of `PATCH path/{key}`' }),
  delete: Type.Boolean({ description: 'Whether `DELETE path/{key}` exists' }),
})

const ListView = closedObject({
  name: Type.String(),
  path: Type.String(),
  summary: Type.String(),
  key: Type.Array(Type.String(), { description: 'The fields of the primary key' }),
  fields: Type.Array(FieldView),
  filters: Type.Array(FilterView, { description: 'An operator `search` marks full-text search' }),
  sorts: Type.Array(Type.String(), { description: 'Fields for the parameter `sort`' }),
  order: Type.Array(Type.String(), { description: 'The default order, descending with a leading -' }),
  expansions: Type.Array(ExpansionView),
  pages: Type.Array(Type.Enum(['cursor', 'offset', 'keyset']), {
    description: 'The page styles; the first is the default',
  }),
  limit: Type.Object({ default: Type.Integer(), max: Type.Integer() }),
  total: Type.Enum(['exact', 'estimate', 'none'], { description: 'How pages by offset count all items' }),
  selectable: Type.Boolean({ description: 'Whether the parameter `fields` selects fields' }),
  one: Type.Boolean({ description: 'Whether `GET path/{key}` exists' }),
  summaries: nullable(
    closedObject({ by: names, sum: names, avg: names, min: names, max: names }),
    'The values of the parameters of `GET path/summary`; null: there is no summary',
  ),
  exports: Type.Array(enumOf(exportFormats), { description: 'Formats of the export: `path.FORMAT`' }),
  access: Type.Enum(['public', 'user', 'admin'], { description: 'Who may read it' }),
  writes: nullable(WritesView, 'What the caller may write; null: nothing'),
})
type ListView = Static<typeof ListView>

/**
 * Declares `GET /lists`, which describes the lists that the caller may read.
 * @param lists read for each request, because declared lists are known only after all other routes
 */
export function catalogueRoute(app: App, lists: () => readonly CataloguedList[]): void {
  app.get(
    '/lists',
    route(
      { scope: ['lists:read', 'users:read'] },
      ['lists'],
      'The lists that the caller can read, with fields, filters, sorts and writes',
      {
        description:
          'All lists of the service and of the configuration module except `/events`. `writes` is null for callers without the scope `lists:write`.',
        response: { 200: listSchema(ListView) },
      },
    ),
    async ({ principal }) => {
      const caller = principal!
      const readable = lists().filter(({ list }) => mayCall(caller, listAccess(list)))
      return { data: readable.map((one) => viewList(one, caller)) }
    },
  )
}

function viewList({ list, writes }: CataloguedList, caller: Principal): ListView {
  const mayWrite = writes !== undefined && mayCall(caller, { scope: 'lists:write' })
  return {
    name: list.name,
    path: list.path,
    summary: list.summary,
    key: [...list.key],
    fields: viewFields(list.fields),
    filters: list.filters.map((filter) => viewFilter(list, filter)),
    sorts: [...list.sort],
    order: [...list.order],
    expansions: list.expand.map(({ name, from, many, fields, description }) => ({
      name,
      from: from.some((one) => fieldOf(list, one).hidden) ? null : [...from],
      many: many !== undefined,
      fields: viewFields(fields),
      description,
    })),
    pages: [...list.pages],
    limit: list.limit,
    total: list.count,
    selectable: list.choices,
    one: list.one,
    summaries: list.summaries ? summaryChoices(list) : null,
    exports: list.exports ? (Object.keys(exportFormats) as ExportFormat[]) : [],
    access: list.access,
    writes: mayWrite ? { ...writes, delete: true } : null,
  }
}

function viewFields(fields: Readonly<Record<string, Field>>): Static<typeof FieldView>[] {
  return shownFields(fields).map((name) => viewField(name, fields[name]!))
}

function viewField(name: string, field: Field): Static<typeof FieldView> {
  const { type, nullable = false, values, description } = field
  return { name, type, nullable, ...(values && { values: [...values] }), description }
}

function viewFilter(
  list: ListDeclaration,
  filter: ListDeclaration['filters'][number],
): Static<typeof FilterView> {
  const field = comparedField(list, filter)
  return {
    parameter: filter.parameter,
    operator: filter.kind,
    field: field.hidden ? null : filter.field,
    type: field.type,
    ...(field.values && { values: [...field.values] }),
    description: filter.description || effectOf(list, filter, field),
  }
}
