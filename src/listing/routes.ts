import type { FastifyRequest } from 'fastify'
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { App } from '../http/app.ts'
import { acceptedCoding, encodeStream } from '../http/content-coding.ts'
import type { EntityTags } from '../http/entity-tags.ts'
import type { Sends } from '../http/response-headers.ts'
import { cacheRules, sendTagged, taggedSends } from '../http/tagged-answer.ts'
import { answerOf } from './envelope.ts'
import type { Presentation } from './expansion.ts'
import { exportFormats, exportRows, type ExportFormat } from './export.ts'
import type { Item } from './items.ts'
import type { ListDeclaration } from './list.ts'
import type { Pages } from './page.ts'
import { queriesOf } from './queries.ts'
import { readQuery, type Parameters } from './query.ts'
import { readRowAccess } from './row-access.ts'
import { answerSchema, querySchema, rowParameters } from './schema.ts'
import type { Row } from './store.ts'

/** Changes items before they are shown, by what their own table does not hold. Made once for each answer. */
export type Revision = () => Promise<(item: Item) => Item>

export interface ListRouteParts {
  pages: Pages
  presentation: Presentation
  tags: EntityTags
}

/** To be raised when the same rows are shown otherwise: answers that clients have kept are then read anew. */
const presentationVersion = 1

/** Exports of one address in a minute. */
const exportsPerMinute = 30

const exportSends: Sends = {
  always: ['Content-Disposition', 'Cache-Control', 'Vary'],
  sometimes: ['Content-Encoding'],
}

/** Declares `GET` of one list, and of its exports. */
export function listRoute(app: App, list: ListDeclaration, parts: ListRouteParts, revision?: Revision): void {
  const { pages, presentation, tags } = parts
  const { path, access, openInDemo } = list
  const schema = {
    tags: ['lists'],
    summary: list.summary,
    querystring: querySchema(list),
    response: { 200: answerSchema(list), 304: Type.Null({ description: 'Not changed since If-None-Match' }) },
  }
  // An answer is another one, too, when the list is declared otherwise.
  const declared = hash('sha256', JSON.stringify([list, String(list.where), presentationVersion]))
  const queries = queriesOf(list)
  app.get(path, { config: { access, openInDemo, sends: taggedSends }, schema }, async (request, reply) => {
    cacheRules(reply, access === 'public')
    const question = questionOf(list, declared, request)
    // What changes items is not of this database alone.
    const early = revision === undefined && !list.live
    return sendTagged(request, reply, { tags, question, early }, async () => {
      const { url, query: parameters, principal: caller } = request
      const page = await pages.read(queries({ url, parameters: parameters as Parameters, caller }))
      const present = await presentation.of(page.query, page.rows)
      const revise = await revision?.()
      return answerOf(page, revise ? (row: Row) => revise(present(row)) : present)
    })
  })
  if (list.exports) for (const format of ['ndjson', 'csv'] as const) exportRoute(app, list, parts, format)
}

function exportRoute(app: App, list: ListDeclaration, parts: ListRouteParts, format: ExportFormat): void {
  const { path, access, openInDemo } = list
  const content = { [exportFormats[format].split(';')[0]!]: { schema: Type.String() } }
  const schema = {
    tags: ['lists'],
    summary: `${list.summary}: all of it, as ${format === 'csv' ? 'CSV' : 'one JSON object per line'}`,
    querystring: Type.Object(rowParameters(list)),
    response: { 200: { description: 'A stream', content } },
  }
  const config = { access, openInDemo, rateLimit: { max: exportsPerMinute }, sends: exportSends }
  app.get(`${path}.${format}`, { config, schema }, async (request, reply) => {
    const query = readQuery(list, request.query as Parameters, request.principal)
    const coding = acceptedCoding(request.headers['accept-encoding'])
    cacheRules(reply, access === 'public')
    reply.header('content-type', exportFormats[format])
    reply.header('content-disposition', `attachment; filename="${path.split('/').at(-1)}.${format}"`)
    if (coding !== 'identity') reply.header('content-encoding', coding)
    // How long it is, nobody knows before it was read.
    if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
    const wanted = new AbortController()
    reply.raw.once('close', () => wanted.abort())
    const pieces = exportRows(query, format, parts.pages, parts.presentation, wanted.signal)
    return reply.send(encodeStream(Readable.from(pieces, { objectMode: false }), coding) as never)
  })
}

/** What decides about an answer, besides the data. */
function questionOf(list: ListDeclaration, declared: string, { url, principal }: FastifyRequest): string {
  const whose = list.where ? JSON.stringify(readRowAccess(list, principal)) : ''
  return `${declared} ${whose} ${url}`
}
