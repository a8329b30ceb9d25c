import type { ListDeclaration } from './list.ts'
import type { Item } from './items.ts'
import type { CursorPage, OffsetPage, Parameters } from './page.ts'
import type { Row } from './store.ts'

/** A list's answer: the body as JSON text, and the Link header. */
export interface Answer {
  body: string
  /** RFC 8288; absent when there is nowhere to go, or when the address would be too long for a header. */
  link?: string | undefined
}

/** Longest Link header, in characters; clients and proxies give up on headers of 8 KiB and more. */
const longestLink = 4_000

/** `{data, pageInfo: {hasNextPage, nextCursor}}` */
export function cursorAnswer(
  list: ListDeclaration,
  parameters: Parameters,
  { rows, nextCursor }: CursorPage,
  present: (row: Row) => Item,
): Answer {
  const links = nextCursor === null ? [] : [linkTo(list, parameters, { cursor: nextCursor }, 'next')]
  const body = { data: rows.map(present), pageInfo: { hasNextPage: nextCursor !== null, nextCursor } }
  return { body: JSON.stringify(body), link: joined(links) }
}

/** `{data, pagination: {page, limit, total, totalPages, hasNext}}` */
export function offsetAnswer(
  list: ListDeclaration,
  parameters: Parameters,
  { rows, page, limit, total }: OffsetPage,
  present: (row: Row) => Item,
): Answer {
  const totalPages = Math.ceil(total / limit)
  const hasNext = page * limit < total
  const link = (to: number, relation: string): string =>
    linkTo(list, parameters, { page: String(to), limit: String(limit) }, relation)
  const links = [
    ...(hasNext ? [link(page + 1, 'next')] : []),
    ...(page > 1 && total > 0 ? [link(Math.min(page - 1, totalPages), 'prev')] : []),
    ...(total > 0 ? [link(1, 'first'), link(totalPages, 'last')] : []),
  ]
  const body = { data: rows.map(present), pagination: { page, limit, total, totalPages, hasNext } }
  return { body: JSON.stringify(body), link: joined(links) }
}

/** Known parameters only, encoded anew: nothing that a client wrote reaches the header as it was. */
function linkTo(
  list: ListDeclaration,
  parameters: Parameters,
  changed: Parameters,
  relation: string,
): string {
  const known = ['sort', 'limit', ...list.filters.map(({ parameter }) => parameter)]
  const query = new URLSearchParams()
  for (const name of known) {
    const value = parameters[name]
    if (value !== undefined && (name !== 'sort' || list.sort.length > 0)) query.set(name, value)
  }
  for (const [name, value] of Object.entries(changed)) query.set(name, value)
  return `<${list.path}?${query.toString()}>; rel="${relation}"`
}

function joined(links: readonly string[]): string | undefined {
  const link = links.join(', ')
  return link === '' || link.length > longestLink ? undefined : link
}
