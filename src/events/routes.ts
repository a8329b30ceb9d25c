import { Type } from 'typebox'
import type { App } from '../http/app.ts'
import { cacheRules, sendTagged, taggedSends } from '../http/caching/tagged-answer.ts'
import { readLimit } from '../paging/limit.ts'
import { limitParameter } from '../paging/parameters.ts'
import type { Database } from '../storage/database.ts'
import { readEventCursor } from './cursor.ts'
import { EventDetail } from './detail-schema.ts'
import { describeEvent } from './detail.ts'
import { readEventNumber } from './event-number.ts'
import { filterSchema, readEventFilter } from './filter.ts'
import type { EventLog, EventPage } from './log.ts'
import { EventItem, presentEvent } from './present.ts'
import { searchEvents, type FoundPage } from './search.ts'
import { pageLimits } from './store.ts'
import { IdParams, nullable, optionalText } from '../http/schemas/schemas.ts'

export interface EventRouteParts {
  database: Database
  log: EventLog
}

const tags = ['events']

const Page = Type.Object({
  data: Type.Array(EventItem),
  nextCursor: nullable(
    Type.Integer(),
    'Pass it back as `cursor` for the next page. Null when there is no next page now; later events are above the last id. With filters a page may hold fewer events than `limit`, or none, and still have a next one.',
  ),
})

export function eventRoutes(app: App, parts: EventRouteParts): void {
  logRoute(app, parts)
  detailRoute(app, parts)
}

function logRoute(app: App, { database, log }: EventRouteParts): void {
  app.get(
    '/events',
    {
      // Not logged: followers of the log, such as the dashboard, call it every few seconds.
      config: { access: { scope: 'events:read' }, openInDemo: true, quiet: true, sends: taggedSends },
      schema: {
        tags,
        summary: 'The log of received and emitted events, in ascending order unless asked otherwise',
        description:
          'A reader that goes on from the last id that it has misses no event, however many writers commit at once. Filters combine; one page looks at a bounded part of the log.',
        querystring: Type.Object({
          ...filterSchema,
          limit: limitParameter(pageLimits),
          cursor: Type.Optional(
            Type.String({
              pattern: '^\\d+$',
              description: 'Only events above this id; with `order=desc` below it.',
            }),
          ),
          order: optionalText('`desc`: the newest first. Anything else: ascending, as without it.'),
        }),
        response: {
          200: Page,
          304: Type.Null({ description: 'Not changed since If-None-Match' }),
        },
      },
    },
    async (request, reply) => {
      const { query } = request
      const filter = readEventFilter(query)
      const limit = readLimit(query.limit, pageLimits)
      const cursor = readEventCursor(query.cursor)
      const descending = query.order === 'desc'
      const position = descending && query.cursor === undefined ? Number.MAX_SAFE_INTEGER : cursor
      cacheRules(reply, false)
      const { rows, nextCursor } = filter
        ? await searchEvents(database, {
            filter,
            cursor: position,
            descending,
            limit,
            horizon: await log.horizon(),
          })
        : withNext(await (descending ? log.newest(position, limit) : log.page(position, limit)))
      return sendTagged(request, reply, {
        body: JSON.stringify({ data: rows.map(presentEvent), nextCursor }),
        link: nextCursor === null ? undefined : `</events?${linkQuery(query, nextCursor)}>; rel="next"`,
      }) as never
    },
  )
}

function detailRoute(app: App, { database }: EventRouteParts): void {
  app.get(
    '/events/:id',
    {
      config: { access: { scope: 'events:read' }, openInDemo: true, quiet: true },
      schema: {
        tags,
        summary: 'One event with its payload, how it was verified, what became of it and what it caused',
        params: IdParams,
        response: { 200: EventDetail },
      },
    },
    async ({ params }, reply) => {
      const text = await describeEvent(database, readEventNumber(params.id))
      // Sent as bytes, because a serializer would parse the payload.
      return reply.type('application/json; charset=utf-8').send(text as never)
    },
  )
}

function withNext({ rows, hasNext }: EventPage): FoundPage {
  return { rows, nextCursor: hasNext ? rows.at(-1)!.id : null }
}

/** The query string of the request with another cursor. */
function linkQuery(query: Readonly<Record<string, string | undefined>>, cursor: number): string {
  const link = new URLSearchParams()
  if (query['limit'] !== undefined) link.set('limit', query['limit'])
  if (query['order'] === 'desc') link.set('order', 'desc')
  for (const name of Object.keys(filterSchema)) if (query[name]) link.set(name, query[name])
  link.set('cursor', String(cursor))
  return link.toString()
}
