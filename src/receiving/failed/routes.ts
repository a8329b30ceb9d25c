import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { readEventNumber } from '../../events/present.ts'
import { JobView, TotalView, viewJob } from '../../events/jobs.ts'
import { requireScope } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { readBodyFilters } from '../../http/requests/parameters.ts'
import type { CursorScope } from '../../paging/cursor.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { filterSchema, listFailed, readFailedFilter } from './store.ts'
import { DryRun } from '../dry-run/dry-runs.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import { closedObject, DateTime, IdParams, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

const tags = ['events']
/** The most characters of an error in a list. */
const longestError = 300

const Reprocessed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  status: Type.String({
    description:
      '`pending`; `retrying` if it has failed and its retry schedule continues; `blocked` while another event of its order key is not processed yet.',
  }),
})

export const Failed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  type: Type.String(),
  source: Type.String(),
  status: Type.Enum(['failed', 'retrying']),
  createdAt: DateTime,
  attempts: Type.Integer(),
  failedAt: nullable(DateTime),
  nextAttemptAt: nullable(
    DateTime,
    'The next attempt of a retried event; null while its handler is running.',
  ),
  error: nullable(
    Type.String({ description: 'The first line of the last error; `GET /events/{id}` has the whole error.' }),
  ),
})

/** Lists failed events, and reprocesses one or many of them. */
export function failedRoutes(app: App, parts: ReceivingRouteParts): void {
  listRoute(app, parts)
  reprocessRoute(app, parts)
  bulkReprocessRoute(app, parts)
}

function listRoute(app: App, { database, cursors, findHandler }: ReceivingRouteParts): void {
  app.get(
    '/events/failed',
    route(
      { scope: 'events:read' },
      tags,
      'Failed and retrying received events, newest first',
      {
        querystring: Type.Object({
          ...filterSchema,
          ...pageParameters(),
        }),
        response: { 200: pageSchema(Failed) },
      },
      { quiet: true },
    ),
    async ({ query }) => {
      const filter = readFailedFilter(query, findHandler)
      const scope: CursorScope = {
        list: 'failed-events',
        keys: [{ name: 'id', type: 'integer' }],
        query: filter,
      }
      const read = (before: number | undefined, count: number) => listFailed(database, filter, before, count)
      const page = await cursors.read(scope, readPageRequest(query), read, ({ event }) => event)
      return viewPage(page, viewFailed)
    },
  )
}

function reprocessRoute(app: App, { reprocessing, dryRuns }: ReceivingRouteParts): void {
  app.post(
    '/events/:id/reprocess',
    route(
      { scope: 'webhooks:write' },
      tags,
      "Run a received event's handlers now",
      {
        description:
          'A failed event gets all of its attempts again; one that waits for its next attempt runs in addition to those of its retry schedule. A running handler is not started a second time. For a processed event the response is 409.',
        params: IdParams,
        body: closedObject({
          dryRun: Type.Optional(
            Type.Boolean({
              description:
                'Run the handlers in a transaction that is rolled back, and report the result. Effects outside of the transaction remain. A key needs the scope `events:read` as well.',
            }),
          ),
        }),
        response: { 200: DryRun, 202: Reprocessed },
      },
      { optionalBody: true },
    ),
    async (request, reply) => {
      const id = readEventNumber(request.params.id)
      if (request.body.dryRun) {
        // The answer shows what a write scope alone may not read.
        requireScope(request, 'events:read')
        const done = await dryRuns.one(id, { processed: false, origin: auditOrigin(request) })
        return reply.code(200).send({ ...done })
      }
      const { eventId, status } = await reprocessing.one(id, auditOrigin(request))
      return reply.code(202).send({ id, eventId, status })
    },
  )
}

function bulkReprocessRoute(app: App, { reprocessing, findHandler }: ReceivingRouteParts): void {
  app.post(
    '/events/reprocess',
    route(
      { scope: 'webhooks:write' },
      tags,
      'Run the handlers of many failed or retrying events now. Returns a job',
      {
        description:
          'The events that match the filters of the body: failed events, or with `status: retrying` events that wait for their next attempt. The job makes them due in small steps; `GET /jobs/{id}` shows its progress, `DELETE /jobs/{id}` cancels it.',
        body: closedObject({
          ...filterSchema,
          dryRun: Type.Optional(Type.Boolean({ description: 'Only count the events' })),
        }),
        response: { 200: TotalView, 202: JobView },
      },
      { optionalBody: true },
    ),
    async (request, reply) => {
      const { body } = request
      const filter = readBodyFilters(() => readFailedFilter(body, findHandler))
      if (body.dryRun) return reply.code(200).send({ total: await reprocessing.count(filter) })
      return reply.code(202).send(viewJob(await reprocessing.start(filter, auditOrigin(request))))
    },
  )
}

type FailedRow = Awaited<ReturnType<typeof listFailed>>[number]

export function viewFailed(row: FailedRow) {
  const status: 'failed' | 'retrying' = row.status === 'failed' ? 'failed' : 'retrying'
  return {
    id: row.event,
    eventId: row.event_id,
    type: row.type,
    source: row.source,
    status,
    createdAt: isoTime(row.created_at),
    attempts: row.attempts,
    failedAt: row.at === null ? null : isoTime(row.at + (row.duration_ms ?? 0)),
    nextAttemptAt: status === 'retrying' && row.claim === null ? isoTime(row.due_at) : null,
    error: row.error && firstLine(row.error),
  }
}

function firstLine(error: string): string {
  const [line = ''] = error.split('\n', 1)
  return line.length <= longestError
    ? line
    : `${line.slice(0, longestError).replace(/[\ud800-\udbff]$/, '')}…`
}
