import type { Filter, ListDeclaration, SortKey } from '../list.ts'
import { readOrder, defaultOrder } from '../order.ts'

/** Queries of one list that are explained: more would take long, and the report would be too long to read. */
export const maxQueries = 200

/** A query that clients can send: with at most one filter, in one of the declared orders. */
export interface DeclaredQuery {
  /** The query string; empty for the list without parameters. */
  query: string
  filter?: Filter
  order: readonly SortKey[]
}

export interface DeclaredQueries {
  /** The list without parameters, each sort, and each filter in the default order. */
  single: readonly DeclaredQuery[]
  /** Each filter with each sort. */
  pairs: readonly DeclaredQuery[]
  /** The number of pairs beyond the maximum, which are left out. */
  omitted: number
}

/** The queries that a declaration allows. The reverse of a sort is not among them: it reads the same index backward. */
export function declaredQueries(list: ListDeclaration): DeclaredQueries {
  const byDefault = defaultOrder(list)
  const sorts = list.sort.map((sort) => ({ query: `sort=${sort}`, order: readOrder(list, sort) }))
  const filters = list.filters.map((filter) => ({ query: `${filter.parameter}=…`, filter, order: byDefault }))
  const pairs = filters.flatMap(({ query, filter }) =>
    sorts.map((sort) => ({ query: `${query}&${sort.query}`, filter, order: sort.order })),
  )
  const single = [{ query: '', order: byDefault }, ...sorts, ...filters]
  const room = Math.max(0, maxQueries - single.length)
  return { single, pairs: pairs.slice(0, room), omitted: Math.max(0, pairs.length - room) }
}
