import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readLimit } from '../../paging/limit.ts'
import { limitParameter } from '../../paging/parameters.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import { readEventCursor } from '../cursor.ts'
import { filterSchema, readEventFilter } from '../filter.ts'
import type { EventLog } from '../log.ts'
import { presentEvent } from '../present.ts'
import { bodyQuerySchema, readBodyQuery } from './body-query.ts'
import { type FoundBodies, searchBodies } from './search.ts'

const mediaType = 'application/x-ndjson'
const limits = { default: 100, max: 1_000 }
/** Searches that one address may begin in a minute. */
const searchesPerMinute = 120

const description = `Reads the bodies of the newest 10,000 events, 64 MB at most, and parses at most 2 MB of those that may match. Each line is an object: \`{"type":"match","event":…,"excerpt":…}\`, the newest first, and at the end \`{"type":"end","reason":…,"scanned":…,"matches":…,"at":…,"cursor":…}\` with the number of events read, the time of the oldest one, and the reason \`complete\`, or \`limit\`: repeat the request with \`cursor\` for older events. Credentials in bodies are redacted and not found. Without \`path\` and \`text\` it is rejected.`

/** GET /events/search: finds events by what their bodies contain. */
export function bodySearchRoute(app: App, { database, log }: { database: Database; log: EventLog }): void {
  app.get(
    '/events/search',
    {
      config: {
        access: { scope: 'events:read' },
        openInDemo: true,
        quiet: true,
        rateLimit: { max: searchesPerMinute },
      },
      schema: {
        tags: ['events'],
        summary: 'Search the bodies of events, newest first',
        description,
        querystring: Type.Object({
          ...bodyQuerySchema,
          ...filterSchema,
          limit: limitParameter(limits),
          cursor: Type.Optional(Type.String({ pattern: '^\\d+$', description: 'Only events below this id' })),
        }),
        response: {
          200: { description: 'Lines of JSON', content: { [mediaType]: { schema: Type.String() } } },
        },
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
      const found = await searchBodies(database, {
        query,
        filter: readEventFilter(request.query) ?? {},
        before: cursor === undefined ? Number.MAX_SAFE_INTEGER : readEventCursor(cursor),
        limit: readLimit(request.query.limit, limits),
        horizon: await log.horizon(),
      })
      return reply.header('content-type', `${mediaType}; charset=utf-8`).send(linesOf(found))
    },
  )
}

function linesOf({ matches, scanned, oldest, cursor }: FoundBodies): string {
  const reason = cursor === null ? 'complete' : 'limit'
  const lines: object[] = matches.map(({ excerpt, ...row }) => ({
    type: 'match',
    event: presentEvent(row),
    excerpt,
  }))
  lines.push({ type: 'end', reason, scanned, matches: matches.length, at: isoTimeOrNull(oldest), cursor })
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}
