import type { CursorScope } from '../paging/cursor.ts'
import type { CursorKey, KeyValue } from '../paging/cursor-values.ts'
import { readLimit } from '../paging/limit.ts'
import { fieldTypes } from './field-types.ts'
import { readFilters, type AppliedFilter } from './filters.ts'
import { shownFields, type Caller, type Expansion, type ListDeclaration, type SortKey } from './list.ts'
import { readOrder, writeOrder } from './order.ts'
import { readRowAccess } from './row-access.ts'

/** The query string, each parameter once. */
export type Parameters = Readonly<Record<string, string>>

/** What a request asks of a list, of which every part is allowed. */
export interface Query {
  list: ListDeclaration
  parameters: Parameters
  /** Those of the query string and, in front, those of the caller's rows. */
  filters: readonly AppliedFilter[]
  /** The values of all filters, in order. */
  values: readonly KeyValue[]
  /** True when no row can pass. */
  empty: boolean
  order: readonly SortKey[]
  limit: number
  /** The fields of an item. */
  shown: readonly string[]
  /** The fields that are read: those shown come first. */
  columns: readonly string[]
  expand: readonly Expansion[]
  /** Equal for queries that differ in nothing but values: one statement serves them, as far as it is for the same kind of place. */
  shape: string
  /** What a cursor is bound to. */
  scope: CursorScope
  /** The same for the way back, in lists that have one: no cursor of one way is good for the other. */
  backward: CursorScope | undefined
}

export function readQuery(list: ListDeclaration, parameters: Parameters, caller?: Caller): Query {
  const asked = readFilters(list, parameters)
  const rows = readRowAccess(list, caller)
  const order = readOrder(list, parameters['sort'])
  const filters = [...rows.applied, ...asked.applied]
  const expand = readNames(parameters['expand'], list.expand, ({ name }) => name)
  const shown = readShown(list, parameters['fields'])
  const all = shown === shownFields(list.fields) && expand.length === 0
  // What an order goes by is never hidden.
  const columns = all ? shown : neededColumns(shown, order, expand)
  const binding = [writeOrder(order), asked.fingerprint, list.access]
  const scope: CursorScope = {
    list: list.name,
    keys: order.map(cursorKey),
    query: list.where ? [...binding, rows.fingerprint] : binding,
  }
  return {
    list,
    parameters,
    filters,
    values: filters.flatMap(({ values }) => values),
    empty: asked.empty || rows.empty,
    order,
    limit: readLimit(parameters['limit'], list.limit),
    shown,
    columns,
    expand,
    shape: shapeOf(list, filters, columns),
    scope,
    backward: list.choices ? { ...scope, query: ['backward', scope.query] } : undefined,
  }
}

function shapeOf(
  { name }: ListDeclaration,
  filters: readonly AppliedFilter[],
  columns: readonly string[],
): string {
  const conditions = filters.map(({ filter, variant }) => `${filter.parameter} ${variant}`)
  return `${name} ${columns.join(',')} ${conditions.join(',')}`
}

function neededColumns(
  shown: readonly string[],
  order: readonly SortKey[],
  expand: readonly Expansion[],
): string[] {
  return [...new Set([...shown, ...order.map(({ name }) => name), ...expand.map(({ from }) => from)])]
}

/** The fields that are asked for; all when none of them is one that the list shows. */
function readShown(list: ListDeclaration, text: string | undefined): readonly string[] {
  const all = shownFields(list.fields)
  const asked = list.choices ? readNames(text, all, (name) => name) : []
  return asked.length > 0 ? asked : all
}

/** Those of the known that a comma-separated text names, in the order in which they are declared. */
function readNames<T>(
  text: string | undefined,
  known: readonly T[],
  nameOf: (one: T) => string,
): readonly T[] {
  if (text === undefined || known.length === 0) return []
  const names = new Set(text.split(',').map((name) => name.trim()))
  return known.filter((one) => names.has(nameOf(one)))
}

function cursorKey({ name, field }: SortKey): CursorKey {
  const { cursor } = fieldTypes[field.type]
  return field.nullable ? { name, type: cursor, nullable: true } : { name, type: cursor }
}
