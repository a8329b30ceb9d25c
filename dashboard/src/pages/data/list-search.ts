type Value = string | number | boolean

/** What a person chose, in the address: filters as `f.PARAMETER`, so that none has the name of another choice. */
export interface ListSearch {
  sort?: string
  page?: Value
  expand?: string
  /** The key of the row in the drawer. */
  row?: Value
  [filter: `f.${string}`]: Value | undefined
}

const own = new Set(['sort', 'page', 'expand', 'row'])

export function readListSearch(search: Record<string, unknown>): ListSearch {
  const found: Record<string, Value> = {}
  for (const [name, value] of Object.entries(search)) {
    if (!own.has(name) && !name.startsWith('f.')) continue
    if (typeof value === 'string' && value !== '') found[name] = plain(value)
    else if (typeof value === 'number' || typeof value === 'boolean') found[name] = value
  }
  return found
}

/** A number or a truth value as such: the router would write the same as a text in quotes. */
function plain(text: string): Value {
  if (text === 'true' || text === 'false') return text === 'true'
  return String(Number(text)) === text && Number.isSafeInteger(Number(text)) ? Number(text) : text
}

/** The values of the filters by their parameter. */
export function filtersOf(search: ListSearch): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      name.startsWith('f.') && value !== undefined ? [[name.slice(2), String(value)]] : [],
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
