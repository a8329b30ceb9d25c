import type { Answer } from '../http/tagged-answer.ts'
import type { Item } from './items.ts'
import type { CursorPage, KeysetPage, OffsetPage, Page } from './pages/page.ts'
import type { Query } from './query.ts'
import type { Row } from './reader.ts'

/** Longest Link header, in characters; clients and proxies give up on headers of 8 KiB and more. */
const longestLink = 4_000

type Relation = 'next' | 'prev' | 'first' | 'last'
/** Of each, the parameters that say where the page is, encoded. */
type Links = [Relation, string][]

/** The Link header is absent when there is nowhere to go, or when the address would be too long for it. */
export function answerOf(page: Page, present: (row: Row) => Item): Answer {
  const { rest, links } =
    page.style === 'offset'
      ? offsetParts(page)
      : page.style === 'cursor'
        ? cursorParts(page)
        : keysetParts(page)
  const body = JSON.stringify({ data: page.rows.map(present), ...rest })
  return { body, link: linkHeader(page, links) }
}

const at = (cursor: string | number): string => `cursor=${encodeURIComponent(cursor)}`

/** `{data, pageInfo: {hasNextPage, nextCursor}}`, and the same two of the previous page in lists that go both ways. */
function cursorParts({ query, nextCursor, previousCursor }: CursorPage) {
  const pageInfo = {
    hasNextPage: nextCursor !== null,
    nextCursor,
    ...(query.list.choices && { hasPreviousPage: previousCursor !== null, previousCursor }),
  }
  const links: Links = []
  if (nextCursor !== null) links.push(['next', at(nextCursor)])
  if (previousCursor !== null) links.push(['prev', at(previousCursor)])
  return { rest: { pageInfo }, links }
}

/** `{data, nextCursor}` */
function keysetParts({ nextCursor }: KeysetPage) {
  const links: Links = nextCursor === null ? [] : [['next', at(nextCursor)]]
  return { rest: { nextCursor }, links }
}

/** `{data, pagination: {page, limit, total, totalPages, hasNext}}`; without totals when nothing was counted. */
function offsetParts({ page, limit, total, estimated, hasNext, query }: OffsetPage) {
  const to = (number: number): string => `page=${number}&limit=${limit}`
  const links: Links = hasNext ? [['next', to(page + 1)]] : []
  if (total === undefined) {
    if (page > 1) links.push(['prev', to(page - 1)], ['first', to(1)])
    return { rest: { pagination: { page, limit, hasNext } }, links }
  }
  const totalPages = Math.ceil(total / limit)
  if (page > 1 && total > 0) links.push(['prev', to(estimated ? page - 1 : Math.min(page - 1, totalPages))])
  if (total > 0) links.push(['first', to(1)])
  if (total > 0 && !estimated) links.push(['last', to(totalPages)])
  const pagination = {
    page,
    limit,
    total,
    totalPages,
    hasNext,
    ...(query.list.choices && { estimated }),
  }
  return { rest: { pagination }, links }
}

function linkHeader({ query, style }: Page, links: Links): string | undefined {
  if (links.length === 0) return undefined
  const { path } = query.list
  const kept = keptParameters(query, style)
  const header = links.map(([relation, place]) => `<${path}?${kept}${place}>; rel="${relation}"`).join(', ')
  return header.length > longestLink ? undefined : header
}

/**
 * What stays the same from page to page, with `&` behind it. Known parameters only, encoded anew: nothing that a client wrote
 * reaches the header as it was.
 */
function keptParameters(query: Query, style: Page['style']): string {
  let text = keptOf.get(query)
  if (text === undefined) {
    const { list, parameters } = query
    const known = [
      ...(list.sort.length > 0 ? ['sort'] : []),
      // Of a page by number it belongs to the place.
      ...(style === 'offset' ? [] : ['limit']),
      ...list.filters.map(({ parameter }) => parameter),
      ...(list.choices ? ['fields', 'count'] : []),
      ...(list.expand.length > 0 ? ['expand'] : []),
    ]
    const pairs = known.flatMap((name) => {
      const value = parameters[name]
      return value === undefined ? [] : [[name, value]]
    })
    text = pairs.length === 0 ? '' : `${new URLSearchParams(pairs).toString()}&`
    keptOf.set(query, text)
  }
  return text
}

const keptOf = new WeakMap<Query, string>()
