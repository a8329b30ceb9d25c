import { Type } from 'typebox'
import { readEventNumber } from '../../events/event-number.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs/job.ts'
import type { App } from '../../http/app.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import { readLimit } from '../../paging/limit.ts'
import { limitParameter } from '../../paging/parameters.ts'
import type { Database } from '../../storage/database.ts'
import { filterSchema, readFailedFilter } from './filter.ts'
import type { Reprocessing } from './reprocess.ts'
import { failedEvents } from './store.ts'

export interface FailedRouteParts {
  database: Database
  cursors: Cursors
  reprocessing: Reprocessing
}

const tags = ['events']
const limits = { default: 20, max: 100 }
/** Characters of an error that a list shows. */
const longestError = 300
const Time = Type.String({ format: 'date-time' })
const Nullable = (schema: typeof Time) => Type.Union([schema, Type.Null()])

const Reprocessed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  status: Type.String({
    description: '`pending`, or `blocked` while another event of its order key is not processed yet.',
  }),
})

const Failed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  type: Type.String(),
  source: Type.String(),
  createdAt: Time,
  attempts: Type.Integer(),
  failedAt: Nullable(Time),
  error: Nullable(
    Type.String({ description: 'The first line of the last error; `GET /events/{id}` has all of it.' }),
  ),
})

const Page = Type.Object({
  data: Type.Array(Failed),
  pageInfo: Type.Object({
    hasNextPage: Type.Boolean(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
})

/** What failed after its last attempt: shown, and processed again singly or in bulk. */
export function failedRoutes(app: App, { database, cursors, reprocessing }: FailedRouteParts): void {
  app.get(
    '/events/failed',
    {
      config: { access: 'admin', quiet: true },
      schema: {
        tags,
        summary: 'Received events that have failed, newest first',
        querystring: Type.Object({
          ...filterSchema,
          limit: limitParameter(limits),
          cursor: Type.Optional(Type.String({ description: 'The nextCursor of the page before' })),
        }),
        response: { 200: Page },
      },
    },
    async ({ query }) => {
      const filter = readFailedFilter(query)
      const limit = readLimit(query.limit, limits)
      const scope: CursorScope = {
        list: 'failed-events',
        keys: [{ name: 'id', type: 'integer' }],
        query: filter,
      }
      let rows = failedEvents(database.reader, database.engine, filter)
      if (query.cursor !== undefined)
        rows = rows.where('inbox.event', '<', cursors.decode(scope, query.cursor)[0] as number)
      const found = await rows
        .select(['inbox.event', 'inbox.event_id', 'inbox.type', 'inbox.source', 'inbox.attempts'])
        .select(['events.created_at', 'last.at', 'last.duration_ms', 'last.error'])
        .orderBy('inbox.event', 'desc')
        .limit(limit + 1)
        .execute()
      const page = found.slice(0, limit)
      const next = found.length > limit ? page.at(-1) : undefined
      return {
        data: page.map((row) => ({
          id: row.event,
          eventId: row.event_id,
          type: row.type,
          source: row.source,
          createdAt: new Date(row.created_at).toISOString(),
          attempts: row.attempts,
          failedAt: row.at === null ? null : new Date(row.at + (row.duration_ms ?? 0)).toISOString(),
          error: row.error && firstLine(row.error),
        })),
        pageInfo: {
          hasNextPage: next !== undefined,
          nextCursor: next ? cursors.encode(scope, [next.event]) : null,
        },
      }
    },
  )

  app.post(
    '/events/reprocess',
    {
      config: { access: 'admin', optionalBody: true },
      preValidation: async (request) => {
        if (request.body === undefined) request.body = {}
      },
      schema: {
        tags,
        summary: 'Run the handlers of many failed events again. Answers with a job',
        description:
          'Of all that have failed, or of those that the body names. The job makes them due in small steps; `GET /jobs/{id}` tells how far it is, `DELETE /jobs/{id}` cancels it.',
        body: Type.Object(
          {
            ...filterSchema,
            dryRun: Type.Optional(Type.Boolean({ description: 'Only tell how many' })),
          },
          { additionalProperties: false },
        ),
        response: { 200: TotalView, 202: JobView },
      },
    },
    async ({ body }, reply) => {
      const filter = readFailedFilter(body)
      if (body.dryRun) return reply.code(200).send({ total: await reprocessing.count(filter) })
      return reply.code(202).send(viewJob(await reprocessing.begin(filter)))
    },
  )

  app.post(
    '/events/:id/reprocess',
    {
      config: { access: 'admin' },
      schema: {
        tags,
        summary: 'Run the handlers of a failed received event again',
        params: Type.Object({ id: Type.String() }),
        response: { 202: Reprocessed },
      },
    },
    async ({ params }, reply) => {
      const id = readEventNumber(params.id)
      const { eventId, status } = await reprocessing.one(id)
      return reply.code(202).send({ id, eventId, status })
    },
  )
}

function firstLine(error: string): string {
  const [line = ''] = error.split('\n', 1)
  return line.length <= longestError
    ? line
    : `${line.slice(0, longestError).replace(/[\ud800-\udbff]$/, '')}…`
}
