import type { Filter, ListDeclaration, SortKey } from '../list.ts'
import { readOrder, defaultOrder } from '../order.ts'

/** Queries that are looked at, of one list: each is planned by the database, and read by somebody. */
export const mostQueries = 200

/** One page that clients can ask for: with one filter at most, in one of the declared orders. */
export interface DeclaredQuery {
  /** As a query string; empty for the list as it is. */
  query: string
  filter?: Filter
  order: readonly SortKey[]
}

export interface DeclaredQueries {
  /** The list as it is, every sort, and every filter on the standing order. */
  single: readonly DeclaredQuery[]
  /** Every filter with every sort. */
  pairs: readonly DeclaredQuery[]
  /** Pairs that are left out, since there are too many. */
  left: number
}

/** What a declaration lets clients ask for. The reverse of a sort reads the same index from its end. */
export function declaredQueries(list: ListDeclaration): DeclaredQueries {
  const standing = defaultOrder(list)
  const sorts = list.sort.map((sort) => ({ query: `sort=${sort}`, order: readOrder(list, sort) }))
  const filters = list.filters.map((filter) => ({ query: `${filter.parameter}=…`, filter, order: standing }))
  const pairs = filters.flatMap(({ query, filter }) =>
    sorts.map((sort) => ({ query: `${query}&${sort.query}`, filter, order: sort.order })),
  )
  const single = [{ query: '', order: standing }, ...sorts, ...filters]
  const room = Math.max(0, mostQueries - single.length)
  return { single, pairs: pairs.slice(0, room), left: Math.max(0, pairs.length - room) }
}
