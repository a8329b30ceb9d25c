import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { closedSignal } from '../../http/connections/closed-signal.ts'
import { readLimit } from '../../paging/limit.ts'
import { limitParameter } from '../../paging/parameters.ts'
import { readEventCursor } from '../cursor.ts'
import { filterSchema, readEventFilter } from '../filter.ts'
import { bodyQuerySchema, readBodyQuery } from './body-query.ts'
import type { BodySearches } from './body-search.ts'

const mediaType = 'application/x-ndjson'
const limits = { default: 100, max: 1_000 }
/** Searches that one address may begin in a minute. */
const searchesPerMinute = 120

const description = `Reads the bodies of events, newest first, and sends what matches as it is found. Each line is an object: \`{"type":"match","event":…,"excerpt":…}\`; \`{"type":"progress","scanned":…,"position":…,"at":…}\` with the number of events read so far, and the number and time that it has come to; at the end \`{"type":"end","reason":…,"cursor":…}\` with the reason \`complete\`, \`limit\` (continue with \`cursor\`) or \`unavailable\`. It stops when the connection is closed. Credentials in bodies are redacted and not found. Without \`path\` and \`text\` it is refused.`

/** GET /events/search: finds events by what their bodies contain. */
export function bodySearchRoute(app: App, searches: BodySearches): void {
  app.get(
    '/events/search',
    {
      config: {
        access: { scope: 'events:read' },
        openInDemo: true,
        quiet: true,
        rateLimit: { max: searchesPerMinute },
        sends: { always: ['X-Accel-Buffering'] },
      },
      schema: {
        tags: ['events'],
        summary: 'Search the bodies of events, newest first, as a stream',
        description,
        querystring: Type.Object({
          ...bodyQuerySchema,
          ...filterSchema,
          limit: limitParameter(limits),
          cursor: Type.Optional(Type.String({ pattern: '^\\d+$', description: 'Only events below this id' })),
        }),
        response: { 200: { description: 'A stream', content: { [mediaType]: { schema: Type.String() } } } },
      },
    },
    async (request, reply) => {
      const query = readBodyQuery(request.query)
      if (query.path === undefined && query.text === undefined)
        throw new Problem('invalid-parameter', {
          parameter: 'text',
          detail: 'Name what to search for: `text`, or `path` with `value`.',
        })
      const { cursor } = request.query
      const search = {
        query,
        filter: readEventFilter(request.query) ?? {},
        before: cursor === undefined ? undefined : readEventCursor(cursor),
        limit: readLimit(request.query.limit, limits),
      }
      reply.header('content-type', `${mediaType}; charset=utf-8`).header('x-accel-buffering', 'no')
      if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
      const lines = searches.start(search, closedSignal(reply))
      return reply.send(Readable.from(lines, { objectMode: false }) as never)
    },
  )
}
