import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type TObject, type TSchema, Type } from 'typebox'
import { Problem } from '../errors.ts'
import { varyBy } from '../http/responses/cross-origin.ts'
import type { App } from '../http/app.ts'
import { closedSignal } from '../http/connections/closing.ts'
import {
  acceptedCoding,
  type Answer,
  cacheRules,
  encodeStream,
  sendTagged,
  taggedSends,
} from '../http/caching/tagged-answer.ts'
import type { Access } from '../http/access/principal.ts'
import type { Sends } from '../http/responses/response-headers.ts'
import type { Presentation } from './expansion.ts'
import { acceptedFormat, type ExportFormat, exportFormats, exportRows, formatPage } from './export.ts'
import { csvParameters } from './parameters.ts'
import { keyText, type ListDeclaration } from './list.ts'
import type { Pages } from './pages/pages.ts'
import { queriesOf, type Query, rowQueriesOf } from './query.ts'
import type { Engine } from '../storage/query-runner.ts'
import { summariesOf } from './summaries.ts'
import {
  answerSchema,
  csvSchemas,
  itemParameters,
  itemSchema,
  querySchema,
  rowParameters,
  Summary,
  summaryParameters,
} from './schema.ts'
import type { Item, Revision } from './items.ts'
import type { ListReader, StandbyReader, Row } from './standby-reader.ts'
import type { CursorPage, KeysetPage, OffsetPage, Page } from './pages/page.ts'

interface ListRouteParts {
  pages: Pages
  presentation: Presentation
  reader: ListReader
  engine: Engine
  /** The standby to read lists from, if there is one; `maxAge` is the replication lag that is allowed, in milliseconds. */
  standby?: { reader: StandbyReader; maxAge: number } | undefined
  revision?: Revision
}

const listSends: Sends = {
  ...taggedSends,
  sometimes: [...(taggedSends.sometimes ?? []), 'Postern-Data-Age'],
}

/** Exports that one client address may start in a minute. */
const exportsPerMinute = 30

const exportSends: Sends = {
  always: ['Content-Disposition', 'Cache-Control', 'Vary'],
  sometimes: ['Content-Encoding'],
}

/** Declares the `GET` routes of a list and of its exports. */
export function listRoute(app: App, list: ListDeclaration, parts: ListRouteParts): void {
  const { pages, presentation, revision } = parts
  const querystring = querySchema(list)
  const queries = queriesOf(list, Object.keys(querystring.properties))
  const schema = { summary: list.summary, querystring, answer: answerSchema(list) }
  taggedRoute(app, list, parts, { path: list.path, ...schema }, ({ url, principal, headers }, reply) => {
    const query = queries({ url, caller: principal })
    if (list.choices) varyBy(reply, 'accept')
    const format = list.choices ? acceptedFormat(headers.accept) : undefined
    return async () => {
      const page = await pages.read(query)
      return answerOf(page, await presentation.of(page.query, page.rows, revision), format)
    }
  })
  if (list.summaries) summaryRoute(app, list, parts)
  if (list.one) rowRoute(app, list, parts)
  if (list.exports) for (const format of ['ndjson', 'csv'] as const) exportRoute(app, list, parts, format)
}

/**
 * Declares a route whose answers have entity tags.
 * @param read reads a request, and returns the function that reads its answer, perhaps from the standby
 */
function taggedRoute(
  app: App,
  list: ListDeclaration,
  { standby }: ListRouteParts,
  { path, answer, ...described }: { path: string; summary: string; querystring: TObject; answer: TSchema },
  read: (request: FastifyRequest, reply: FastifyReply) => () => Promise<Answer>,
): void {
  const notChanged = Type.Null({ description: 'Not changed since If-None-Match' })
  const schema = { tags: ['lists'], ...described, response: { 200: answer, 304: notChanged } }
  const config = { access: listAccess(list), openInDemo: list.openInDemo, sends: listSends }
  app.get(path, { config, schema }, async (request, reply) => {
    cacheRules(reply, list.access === 'public')
    return sendTagged(request, reply, await readOnStandby(standby, request, reply, read(request, reply)))
  })
}

/** Declares `GET path/{key}`. */
function rowRoute(app: App, list: ListDeclaration, parts: ListRouteParts): void {
  const { pages, presentation, revision } = parts
  const querystring = Type.Object(itemParameters(list))
  const queries = rowQueriesOf(list, Object.keys(querystring.properties))
  const schema = {
    summary: `${list.summary}: one, by its ${list.key.join(' and ')}`,
    params: Type.Object({ key: Type.String({ description: `The ${keyText(list)}` }) }),
    querystring,
    answer: itemSchema(list),
  }
  taggedRoute(app, list, parts, { path: `${list.path}/:key`, ...schema }, (request, reply) => {
    const { url, params, principal: caller } = request
    const query = queries({ key: (params as { key: string }).key, url, caller })
    return async () => {
      const [row] = query.empty ? [] : await pages.rowsAfter(query, undefined, 1, closedSignal(reply))
      if (!row)
        throw new Problem('not-found', { detail: `There is no row with this ${list.key.join(' and ')}.` })
      const present = await presentation.of(query, [row], revision)
      return { body: JSON.stringify(present(row)) }
    }
  })
}

/** Declares `GET path/summary`. */
function summaryRoute(app: App, list: ListDeclaration, parts: ListRouteParts): void {
  const querystring = Type.Object(summaryParameters(list))
  const summaries = summariesOf(list, Object.keys(querystring.properties), parts)
  const summary = `${list.summary}: counts, sums and other values of groups`
  const schema = { path: `${list.path}/summary`, summary, querystring, answer: Summary }
  taggedRoute(app, list, parts, schema, ({ url, principal: caller }) => {
    const read = summaries({ url, caller })
    return async () => ({ body: JSON.stringify(await read()) })
  })
}

/** Reads from the standby if there is one and the request accepts its age, which is sent as `Postern-Data-Age`, in seconds. */
async function readOnStandby<T>(
  standby: ListRouteParts['standby'],
  { headers }: FastifyRequest,
  reply: FastifyReply,
  read: () => Promise<T>,
): Promise<T> {
  if (!standby) return read()
  const maxAge = Math.min(standby.maxAge, acceptedAge(headers['cache-control']))
  const { result, age } = await standby.reader.withStandby(maxAge, read)
  // Rounded up, so that the answer is never older than the header says.
  reply.header('postern-data-age', (Math.ceil(age / 10) / 100).toFixed(2))
  return result
}

/** The age in milliseconds that the request's Cache-Control accepts (RFC 9111, section 5.2.1). */
function acceptedAge(cacheControl = ''): number {
  if (/(?:^|[\s,])no-(?:cache|store)(?:$|[\s,])/i.test(cacheControl)) return 0
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(cacheControl)?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000
}

function exportRoute(app: App, list: ListDeclaration, parts: ListRouteParts, format: ExportFormat): void {
  const { path, access, openInDemo } = list
  const content = { [exportFormats[format].split(';')[0]!]: { schema: Type.String() } }
  const schema = {
    tags: ['lists'],
    summary: `${list.summary}: all items, as ${format === 'csv' ? 'CSV' : 'one JSON object per line'}`,
    querystring: Type.Object({ ...rowParameters(list), ...(format === 'csv' && csvSchemas) }),
    response: { 200: { description: 'A stream', content } },
  }
  const queries = queriesOf(list, Object.keys(schema.querystring.properties))
  const config = {
    access: listAccess(list),
    openInDemo,
    rateLimit: { max: exportsPerMinute },
    sends: exportSends,
  }
  app.get(`${path}.${format}`, { config, schema }, async (request, reply) => {
    const { url, principal: caller } = request
    const query = queries({ url, caller })
    // The stream's status is sent before its first row is read.
    await parts.pages.checkSearch(query)
    const coding = acceptedCoding(request.headers['accept-encoding'])
    cacheRules(reply, access === 'public')
    reply.header('content-type', exportFormats[format])
    reply.header('content-disposition', `attachment; filename="${path.split('/').at(-1)}.${format}"`)
    if (coding !== 'identity') reply.header('content-encoding', coding)
    // The length of the body is unknown until it has been read.
    if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
    const batches = exportRows(query, format, parts, closedSignal(reply))
    return reply.send(encodeStream(Readable.from(batches, { objectMode: false }), coding) as never)
  })
}

/** What the calls that read a list ask for. */
export function listAccess({ access, scope = 'lists:read' }: ListDeclaration): Access {
  if (access === 'public') return 'public'
  return access === 'admin' ? { scope } : { scope, orUser: true }
}

/** The longest Link header, in characters. Many clients and proxies refuse headers of 8 KiB. */
const maxLinkLength = 4_000

type Relation = 'next' | 'prev' | 'first' | 'last'
/** Each relation with the encoded parameters that select its page. */
type Links = [Relation, string][]

/** The answer of a page. It has no Link header if there is no other page, or if the header would be too long. */
function answerOf(page: Page, present: (row: Row) => Item, format: ExportFormat | undefined): Answer {
  const { rest, links } =
    page.style === 'offset'
      ? offsetParts(page)
      : page.style === 'cursor'
        ? cursorParts(page)
        : keysetParts(page)
  const [items, link] = [page.rows.map(present), linkHeader(page, links)]
  if (format) return { body: formatPage(page.query, format, items), link, type: exportFormats[format] }
  return { body: JSON.stringify({ data: items, ...rest }), link }
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
      ...(list.choices ? ['fields', 'count', ...Object.keys(csvParameters)] : []),
      ...(list.expand.length > 0 ? ['expand'] : []),
    ]
    const given = known.filter((name) => parameters[name] !== undefined)
    const pairs = given.map((name) => [name, parameters[name]!])
    text = pairs.length === 0 ? '' : `${new URLSearchParams(pairs).toString()}&`
    commonTexts.set(query, text)
  }
  return text
}

const commonTexts = new WeakMap<Query, string>()
