import type { CursorScope, CursorKey, KeyValue } from '../paging/cursor.ts'
import { readLimit } from '../paging/parameters.ts'
import { fieldTypes } from './field-types.ts'
import { filterKinds, readFilters } from './filters.ts'
import { parametersOf, type Parameters } from './parameters.ts'
import { rawQuery } from '../http/requests/parameters.ts'
import {
  shownFields,
  splitKey,
  type Expansion,
  type Filter,
  type KindRules,
  type ListDeclaration,
  type SortKey,
  type AppliedFilter,
} from './list.ts'
import { readOrder, writeOrder } from './order.ts'
import { readRowAccess } from './items.ts'
import type { Settings } from './standby-reader.ts'
import type { Principal } from '../http/access/principal.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'

/** A request for a list, read and reduced to what the list allows. */
export interface Query {
  list: ListDeclaration
  parameters: Parameters
  /** The conditions of the list's `where`, then those of the query string. */
  filters: readonly AppliedFilter[]
  /** The values of all filters, in the filters' order. */
  values: readonly KeyValue[]
  /** Settings for all statements of the query. */
  settings: Settings | undefined
  /** Whether it is known that no row can pass. */
  empty: boolean
  order: readonly SortKey[]
  limit: number
  /** The fields of an item. */
  shown: readonly string[]
  /** The fields to read: those of an item, then those that the order and the expansions need. */
  columns: readonly string[]
  expand: readonly Expansion[]
  /** Equal for queries that differ only in values, which can share a statement. */
  shape: string
  scopes: CursorScopes
}

/** The scopes of cursors, by the page that they lead to. Lists that only go forward have `next` alone. */
export interface CursorScopes {
  next: CursorScope
  previous?: CursorScope
  /** Empty pages have cursors to the ends of the list, which do not depend on the key that is in the cursor. */
  first?: CursorScope
  last?: CursorScope
}

export function readQuery(list: ListDeclaration, parameters: Parameters, caller?: Principal): Query {
  const requested = readFilters(list, parameters)
  const rows = readRowAccess(list, caller)
  const order = readOrder(list, parameters['sort'])
  const filters = [...rows.applied, ...requested.applied]
  const expand = readNames(parameters['expand'], list.expand, ({ name }) => name)
  const shown = readShown(list, parameters['fields'])
  // The list's own fields in an order are never hidden, so the shown fields include them.
  const all = shown === shownFields(list.fields) && expand.length === 0 && !order[0]?.of
  const columns = all
    ? shown
    : [...new Set([...shown, ...order.map(({ name }) => name), ...expand.flatMap(({ from }) => from)])]
  const conditions = filters.map(({ filter, variant }) => `${filter.parameter} ${variant}`)
  // A cursor has the values that its engine stores, which another engine may not be able to compare.
  const isMixed = order[0]!.field.mixed ?? false
  const binding = [writeOrder(order), requested.fingerprint, list.access, isMixed]
  return {
    list,
    parameters,
    filters,
    values: filters.flatMap(({ values }) => values),
    settings: rows.settings,
    empty: requested.empty || rows.empty,
    order,
    limit: readLimit(parameters['limit'], list.limit),
    shown,
    columns,
    expand,
    shape: `${list.name} ${columns.join(',')} ${conditions.join(',')}`,
    scopes: scopesOf(list, {
      list: list.name,
      keys: order.map(cursorKey),
      query: list.where ? [...binding, rows.fingerprint] : binding,
    }),
  }
}

function scopesOf({ choices }: ListDeclaration, next: CursorScope): CursorScopes {
  const of = (page: string): CursorScope => ({ ...next, query: [page, next.query] })
  return choices ? { next, previous: of('backward'), first: of('first'), last: of('last') } : { next }
}

/**
 * Returns the function that reads requests for one row. The conditions of `where` apply besides the key: a row that the caller may not
 * see is as absent as one that does not exist.
 * @param known the names of all parameters of the endpoint
 */
export function rowQueriesOf(
  list: ListDeclaration,
  known: readonly string[],
): (request: { key: string; url: string; caller: Principal | undefined }) => Query {
  const readParameters = parametersOf(list, known)
  const filters = list.key.map((_, index) => partFilter(list.key, index))
  // A text that cannot be a key matches no row: 404, not 400.
  const ofRow: ListDeclaration = { ...list, name: `${list.name} by key`, filters, strict: false }
  return ({ key, url, caller }) => readQuery(ofRow, { ...readParameters(rawQuery(url)), key }, caller)
}

/** Compares one field of a key with its part of the text. */
function partFilter(key: readonly string[], index: number): Filter {
  const filter: Filter = { parameter: 'key', field: key[index]!, kind: 'equals', description: '' }
  if (key.length === 1) return filter
  const rules: KindRules = {
    ...filterKinds.equals,
    read(text, field, parameter) {
      const parts = splitKey(text)
      return parts.length === key.length ? filterKinds.equals.read(parts[index]!, field, parameter) : 'none'
    },
  }
  return { ...filter, rules }
}

/** The requested fields that the list shows; all fields if the request names none of them. */
function readShown(list: ListDeclaration, text: string | undefined): readonly string[] {
  const all = shownFields(list.fields)
  const requested = list.choices ? readNames(text, all, (name) => name) : []
  return requested.length > 0 ? requested : all
}

/** Selects the items that a comma-separated text names, in the order of the declaration. */
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
  return { name, type: cursor, asStored: true, ...(field.nullable && { nullable: true }) }
}

/** Queries in the cache of one list, and the longest URL of one, in characters. A full cache uses a few megabytes. */
const cacheSize = 500
const maxCachedUrl = 1_000

/**
 * Returns the function that reads requests of one list. Queries are cached: reading one takes longer than reading its page.
 * @param known the names of all parameters of the endpoint
 */
export function queriesOf(
  list: ListDeclaration,
  known: readonly string[],
): (request: { url: string; caller: Principal | undefined }) => Query {
  const cache = new BoundedCache<string, Query>(cacheSize)
  const readParameters = parametersOf(list, known)
  return ({ url, caller }) => {
    // `where` and `settings` may return different results for each request.
    if (list.where || list.settings || url.length > maxCachedUrl)
      return readQuery(list, readParameters(rawQuery(url)), caller)
    let query = cache.get(url)
    if (!query) cache.set(url, (query = readQuery(list, readParameters(rawQuery(url)))))
    return query
  }
}
