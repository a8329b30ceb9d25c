import type { ListDescription } from './lists.ts'

/** What a person chose, in the address: filters as `f.PARAMETER`, so that none has the name of another choice. */
export interface ListSearch {
  sort?: string
  page?: string
  expand?: string
  /** The key of the row in the drawer. */
  row?: string
  [filter: `f.${string}`]: string | undefined
}

const own = new Set(['sort', 'page', 'expand', 'row'])

export function readListSearch(search: Record<string, unknown>): ListSearch {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(search)) {
    if (!own.has(name) && !name.startsWith('f.')) continue
    if (['string', 'number', 'boolean'].includes(typeof value) && value !== '') found[name] = String(value)
  }
  return found
}

/** The values of the filters by their parameter. */
export function filtersOf(search: ListSearch): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      name.startsWith('f.') && value !== undefined ? [[name.slice(2), value]] : [],
    ),
  )
}

/** The query of a call for rows: filters, order and expansions, without the page. */
export function rowQuery(search: ListSearch): Record<string, string> {
  const { sort, expand } = search
  return {
    ...filtersOf(search),
    ...(sort !== undefined && { sort }),
    ...(expand !== undefined && { expand }),
  }
}

/** The direction in which a list is sorted by a field. */
export function directionOf(
  list: ListDescription,
  search: ListSearch,
  field: string,
): 'asc' | 'desc' | undefined {
  const [first] = search.sort?.split(',') ?? list.order
  if (first === field) return 'asc'
  return first === `-${field}` ? 'desc' : undefined
}
