import { Type } from 'typebox'
import { type App, route } from '../http/app.ts'
import { cacheRules, sendTagged, taggedSends } from '../http/caching/tagged-answer.ts'
import { readLimit, limitParameter } from '../paging/parameters.ts'
import type { Database, Queryable } from '../storage/database.ts'
import { EventItem, presentEvent, presentOptions, readEventCursor, readEventNumber } from './present.ts'
import { describeEvent } from './detail.ts'
import { filterSchema, readEventFilter } from './filter.ts'
import type { EventLog, EventPage } from './log.ts'
import { type FoundPage, searchEvents } from './search.ts'
import { pageLimits } from './store.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { DateTime, IdParams, nullable, NullableText, optionalText } from '../http/schemas/schemas.ts'

const tags = ['events']

export const EventLogPage = Type.Object({
  data: Type.Array(EventItem),
  nextCursor: nullable(
    Type.Integer(),
    'Pass it back as `cursor` for the next page. Null when there is no next page now; later events are above the last id. With filters a page may hold fewer events than `limit`, or none, and still have a next one.',
  ),
})

export function eventRoutes(app: App, database: Database, log: EventLog): void {
  logRoute(app, database, log)
  detailRoute(app, database)
}

function logRoute(app: App, database: Database, log: EventLog): void {
  app.get(
    '/events',
    {
      // Not logged: followers of the log, such as the dashboard, call it every few seconds.
      config: { access: { scope: 'events:read' }, openInDemo: true, quiet: true, sends: taggedSends },
      schema: {
        tags,
        summary: 'The log of received and emitted events, oldest first by default',
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
          200: EventLogPage,
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
        body: JSON.stringify({ data: await present(database, rows), nextCursor }),
        link: nextCursor === null ? undefined : `</events?${linkQuery(query, nextCursor)}>; rel="next"`,
      }) as never
    },
  )
}

function detailRoute(app: App, database: Database): void {
  app.get(
    '/events/:id',
    route(
      { scope: 'events:read' },
      tags,
      'One event with payload, verification, timeline and resulting deliveries',
      { params: IdParams, response: { 200: EventDetail } },
      { openInDemo: true, quiet: true },
    ),
    async ({ params }, reply) => {
      const text = await describeEvent(database, readEventNumber(params.id))
      // Sent as bytes, because a serializer would parse the payload.
      return reply.type('application/json; charset=utf-8').send(text as never)
    },
  )
}

/** Adds the channels and tags of emitted events, and the times of scheduled and canceled ones. */
async function present({ slowReader }: Database, rows: FoundPage['rows']) {
  const emitted = rows.filter(({ direction }) => direction === 'emitted').map(({ id }) => id)
  if (emitted.length === 0) return rows.map(presentEvent)
  const stored = await slowReader
    .selectFrom('event_options')
    .select(['event', 'channels', 'tags'])
    .where('event', 'in', emitted)
    .execute()
  const options = new Map(stored.map((row) => [row.event, row]))
  const times = await readTimes(slowReader, rows)
  return rows.map((row) => {
    const at = times.get(row.id)
    return {
      ...presentEvent(row),
      ...(at !== undefined && { deliverAt: isoTime(at) }),
      ...presentOptions(options.get(row.id)),
    }
  })
}

async function readTimes(reader: Queryable, rows: FoundPage['rows']): Promise<Map<number, number>> {
  const ids = rows.flatMap(({ id, status }) => (status === 'scheduled' || status === 'canceled' ? [id] : []))
  if (ids.length === 0) return new Map()
  const found = await reader
    .selectFrom('scheduled_events')
    .select(['event', 'deliver_at'])
    .where('event', 'in', ids)
    .execute()
  return new Map(found.map(({ event, deliver_at }) => [event, deliver_at]))
}

function withNext({ rows, hasNext }: EventPage): FoundPage {
  return { rows, nextCursor: hasNext ? rows.at(-1)!.id : null }
}

function linkQuery(query: Readonly<Record<string, string | undefined>>, cursor: number): string {
  const link = new URLSearchParams()
  if (query['limit'] !== undefined) link.set('limit', query['limit'])
  if (query['order'] === 'desc') link.set('order', 'desc')
  for (const name of Object.keys(filterSchema)) if (query[name]) link.set(name, query[name])
  link.set('cursor', String(cursor))
  return link.toString()
}

const time = nullable(DateTime)

const Attempt = Type.Object({
  number: Type.Integer(),
  at: DateTime,
  durationMs: Type.Integer(),
  status: nullable(Type.Integer(), 'HTTP status; null without an answer'),
  error: NullableText,
  failure: nullable(Type.String(), 'The kind of failure, a stable word such as `refused`'),
})

const Delivery = Type.Object({
  id: Type.Integer(),
  event: Type.Integer(),
  subscriberId: Type.String(),
  subscriberHost: Type.String({ description: 'The host of its address' }),
  subscriberDescription: NullableText,
  status: Type.String(),
  attempts: Type.Integer(),
  lastStatus: nullable(Type.Integer(), 'HTTP status of the newest attempt.'),
  lastError: NullableText,
  nextAttemptAt: time,
  createdAt: time,
  finishedAt: time,
  attemptLog: Type.Array(Attempt, { description: 'The newest ten attempts, in their order' }),
})

const Emitted = Type.Object({
  id: Type.Integer(),
  eventId: Type.String(),
  type: nullable(Type.String(), 'Null when it is no longer stored'),
  status: NullableText,
  createdAt: time,
})

const Cause = Type.Object({
  id: Type.Integer(),
  eventId: Type.String(),
  direction: Type.Enum(['received', 'emitted']),
  type: nullable(Type.String(), 'Null when it is no longer stored'),
  source: NullableText,
  createdAt: time,
})

const Returned = Type.Object({
  id: Type.Integer(),
  eventId: Type.String(),
  type: Type.String(),
  source: NullableText,
  status: Type.String(),
  createdAt: time,
})

const Processing = Type.Object({
  attempts: Type.Integer(),
  processedAt: time,
  nextAttemptAt: time,
  running: Type.Boolean({ description: 'Whether a handler is running now' }),
  orderKey: NullableText,
  blockedBy: nullable(
    Type.Integer(),
    'The event of the same order key that has to be processed before; null unless the status is `blocked`',
  ),
  failures: Type.Array(
    Type.Object({ number: Type.Integer(), at: time, durationMs: Type.Integer(), error: Type.String() }),
  ),
})

/** An event with everything that its page shows. */
export const EventDetail = Type.Object({
  ...EventItem.properties,
  contentType: Type.String(),
  audience: nullable(
    Type.String(),
    'Of an emitted event: the owner whose subscribers get it, `*` for all; null for those without an owner.',
  ),
  deliverAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Of an emitted event with `deliverAt` or `delay`: when it is sent.',
    }),
  ),
  canceledAt: nullable(DateTime, 'When a scheduled event was canceled.'),
  uid: nullable(Type.String(), 'Of an emitted event: the ID that its caller chose besides `eventId`.'),
  payloadExpiresAt: nullable(
    DateTime,
    'When the payload is due for removal, because of `payloadRetention` or a request. Null: with the event.',
  ),
  payloadRemovedAt: nullable(DateTime, 'When the payload was removed; the event itself remains.'),
  headers: nullable(
    Type.Record(Type.String(), Type.String()),
    'Of the request that brought a received event, without credentials and signatures; of an emitted event, what its deliveries carry because of its causes.',
  ),
  verification: nullable(
    Type.Object({
      scheme: Type.String({ description: 'By which scheme' }),
      secret: nullable(Type.Integer(), 'By which secret of the source: its place among them, from 1'),
      signedAt: nullable(DateTime, 'The time that the sender signed'),
    }),
    'How a received event was shown to come from its sender.',
  ),
  causedBy: nullable(
    Type.Integer(),
    'The number of the event that caused this one: of an emitted event, the received one whose handler emitted it; of a received event, the emitted one whose delivery it was.',
  ),
  causes: Type.Array(Cause, {
    description: 'The chain of events that led to this one, the nearest first: at most 32.',
  }),
  emitted: Type.Array(Emitted, {
    description: "The first hundred events that a received event's handlers emitted, in their transactions.",
  }),
  returned: Type.Array(Returned, {
    description: 'The first hundred events that sources received as deliveries of an emitted event.',
  }),
  processing: nullable(Processing, 'Of a received event.'),
  deliveries: Type.Array(Delivery, { description: 'Of an emitted event: the first hundred.' }),
  emittedDeliveries: Type.Array(Delivery, {
    description: 'Of the events that a received event’s handlers emitted: the first hundred.',
  }),
  payload: Type.Optional(
    Type.Unknown({
      description:
        'The JSON that came or is sent, digit for digit; the sender’s credentials in it are shown as `[redacted]`.',
    }),
  ),
  payloadBase64: optionalText('Instead of `payload` when the bytes are no JSON.'),
})
