import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit.ts'
import { readEventNumber } from '../../events/event-number.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs/job.ts'
import type { App } from '../../http/app.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import { readLimit } from '../../paging/limit.ts'
import { limitParameter } from '../../paging/parameters.ts'
import type { Database } from '../../storage/database.ts'
import { filterSchema, readFailedFilter, type FindHandler } from './filter.ts'
import type { DryRuns } from './dry-run.ts'
import type { Reprocessing } from './reprocess.ts'
import { failedEvents } from './store.ts'

export interface FailedRouteParts {
  database: Database
  cursors: Cursors
  reprocessing: Reprocessing
  dryRuns: DryRuns
  findHandler: FindHandler
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
    description:
      '`pending`; `retrying` when it has failed and its retry schedule goes on; `blocked` while another event of its order key is not processed yet.',
  }),
})

const DryRun = Type.Object({
  outcome: Type.Enum(['processed', 'failed', 'forwarded'], {
    description:
      'What would become of it. `forwarded`: it would be posted to `forwardTo`, which was not done.',
  }),
  error: Type.Union([Type.String(), Type.Null()], { description: 'What a handler threw, with its stack.' }),
  emitted: Type.Array(
    Type.Object({
      id: Type.Optional(Type.String()),
      type: Type.String(),
      data: Type.Unknown(),
      audience: Type.Optional(Type.String()),
    }),
    { description: 'What its handlers would emit: the first hundred.' },
  ),
  emittedTotal: Type.Integer(),
  forwardTo: Type.Union([Type.String(), Type.Null()], {
    description: 'Of a source that forwards: the address, without a query.',
  }),
  durationMs: Type.Integer(),
})

const Failed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  type: Type.String(),
  source: Type.String(),
  status: Type.Enum(['failed', 'retrying']),
  createdAt: Time,
  attempts: Type.Integer(),
  failedAt: Nullable(Time),
  nextAttemptAt: Type.Union([Time, Type.Null()], {
    description: 'Of an event that is retried, unless its handler is running now.',
  }),
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

/** What failed: shown, and processed again singly or in bulk. */
export function failedRoutes(app: App, parts: FailedRouteParts): void {
  const { database, cursors, reprocessing, dryRuns, findHandler } = parts
  app.get(
    '/events/failed',
    {
      config: { access: { scope: 'events:read' }, quiet: true },
      schema: {
        tags,
        summary: 'Received events that have failed, or are retried, newest first',
        querystring: Type.Object({
          ...filterSchema,
          limit: limitParameter(limits),
          cursor: Type.Optional(Type.String({ description: 'The nextCursor of the page before' })),
        }),
        response: { 200: Page },
      },
    },
    async ({ query }) => {
      const filter = readFailedFilter(query, findHandler)
      const limit = readLimit(query.limit, limits)
      const scope: CursorScope = {
        list: 'failed-events',
        keys: [{ name: 'id', type: 'integer' }],
        query: filter,
      }
      let rows = failedEvents(database.reader, database.engine, filter)
      if (query.cursor !== undefined)
        rows = rows.where('event_queue.event', '<', cursors.decode(scope, query.cursor)[0] as number)
      const found = await rows
        .select([
          'event_queue.event',
          'event_queue.event_id',
          'event_queue.type',
          'event_queue.source',
          'event_queue.attempts',
        ])
        .select([
          'event_queue.due_at',
          'event_queue.claim',
          'events.created_at',
          'last.at',
          'last.duration_ms',
          'last.error',
        ])
        .orderBy('event_queue.event', 'desc')
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
          status: filter.status ?? 'failed',
          createdAt: new Date(row.created_at).toISOString(),
          attempts: row.attempts,
          failedAt: row.at === null ? null : new Date(row.at + (row.duration_ms ?? 0)).toISOString(),
          nextAttemptAt:
            filter.status === 'retrying' && row.claim === null ? new Date(row.due_at).toISOString() : null,
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
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      preValidation: async (request) => {
        if (request.body === undefined) request.body = {}
      },
      schema: {
        tags,
        summary: 'Run the handlers of many failed or retried events now. Answers with a job',
        description:
          'Of all that have failed, or of those that the body names; with `status: retrying` of those that wait for their next attempt. The job makes them due in small steps; `GET /jobs/{id}` tells how far it is, `DELETE /jobs/{id}` cancels it.',
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
    async (request, reply) => {
      const { body } = request
      const filter = readFailedFilter(body, findHandler)
      if (body.dryRun) return reply.code(200).send({ total: await reprocessing.count(filter) })
      return reply.code(202).send(viewJob(await reprocessing.begin(filter, auditOrigin(request))))
    },
  )

  app.post(
    '/events/:id/reprocess',
    {
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      preValidation: async (request) => {
        if (request.body === undefined) request.body = {}
      },
      schema: {
        tags,
        summary: 'Run the handlers of a received event now',
        description:
          'A failed event gets all of its attempts again; for one that waits for its next attempt the retry schedule goes on. One whose handler is running is not run a second time. A processed event is refused with 409.',
        params: Type.Object({ id: Type.String() }),
        body: Type.Object(
          {
            dryRun: Type.Optional(
              Type.Boolean({
                description:
                  'Run the handlers in a transaction that is rolled back, and tell what they would have done. What they do outside of their transaction is done.',
              }),
            ),
          },
          { additionalProperties: false },
        ),
        response: { 200: DryRun, 202: Reprocessed },
      },
    },
    async (request, reply) => {
      const id = readEventNumber(request.params.id)
      if (request.body.dryRun) return reply.code(200).send({ ...(await dryRuns.one(id)) })
      const { eventId, status } = await reprocessing.one(id, auditOrigin(request))
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
