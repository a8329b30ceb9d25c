import type { Answer } from '../http/caching/tagged-answer.ts'
import type { Item } from './items.ts'
import type { CursorPage, KeysetPage, OffsetPage, Page } from './pages/page.ts'
import type { Query } from './query.ts'
import type { Row } from './reader.ts'

/** The longest Link header, in characters. Many clients and proxies refuse headers of 8 KiB. */
const maxLinkLength = 4_000

type Relation = 'next' | 'prev' | 'first' | 'last'
/** Each relation with the encoded parameters that select its page. */
type Links = [Relation, string][]

/** The answer of a page. It has no Link header if there is no other page, or if the header would be too long. */
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

/** `{data, pageInfo: {hasNextPage, nextCursor}}`; in lists that go backward also `hasPreviousPage` and `previousCursor`. */
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

/** `{data, pagination: {page, limit, total, totalPages, hasNext}}`; without totals if the rows were not counted. */
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
    ...((query.list.choices || (estimated && query.list.countAtMost !== undefined)) && { estimated }),
  }
  return { rest: { pagination }, links }
}

function linkHeader({ query, style }: Page, links: Links): string | undefined {
  if (links.length === 0) return undefined
  const { path } = query.list
  const common = commonParameters(query, style)
  const header = links.map(([relation, page]) => `<${path}?${common}${page}>; rel="${relation}"`).join(', ')
  return header.length > maxLinkLength ? undefined : header
}

/**
 * The parameters that all pages of a query share, followed by `&`. They are known parameters and encoded here, so that no text of
 * a client reaches the header unescaped.
 */
function commonParameters(query: Query, style: Page['style']): string {
  let text = commonTexts.get(query)
  if (text === undefined) {
    const { list, parameters } = query
    const known = [
      ...(list.sort.length > 0 ? ['sort'] : []),
      // The links of an offset page have their own.
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
    commonTexts.set(query, text)
  }
  return text
}

const commonTexts = new WeakMap<Query, string>()
