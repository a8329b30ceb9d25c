import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { JobView, viewJob } from '../../events/jobs.ts'
import { type App, route } from '../../http/app.ts'
import {
  closedObject,
  DateTime,
  EmptyBody,
  IdParams,
  nullable,
  optionalText,
} from '../../http/schemas/schemas.ts'
import type { CursorScope } from '../../paging/cursor.ts'
import { readText, readLimit, pageParameters, pageSchema, viewPage } from '../../paging/parameters.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Queryable } from '../../storage/database.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import { Failed, viewFailed } from '../failed/routes.ts'
import { listFailed } from '../failed/store.ts'
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Row } from '../../storage/tables.ts'

/** Events that a count reads at most. */
const mostCounted = 1_000

/** A group with the numbers of its events that have failed or are retried, up to `mostCounted`. */
interface CountedGroup extends Row<'failure_groups'> {
  failed: number
  retrying: number
}

/**
 * Returns one group, or those with events that have failed or are retried, the newest failure first.
 * @param before only groups behind this position
 */
async function listGroups(
  reader: Queryable,
  { handler, id }: { handler?: string; id?: string },
  { before, limit }: { before?: readonly [lastAt: number, id: string]; limit: number },
): Promise<CountedGroup[]> {
  const failed = sql`q.status = 'failed'`
  const retrying = sql`q.status = 'pending' and q.failed_at is not null`
  const has = (which: RawBuilder<unknown>) =>
    sql<SqlBool>`exists (select 1 from event_queue q where q.failure_group = failure_groups.id and ${which})`
  let query = reader
    .selectFrom('failure_groups')
    .selectAll()
    .select([countOf(failed).as('failed'), countOf(retrying).as('retrying')])
  if (id !== undefined) query = query.where('id', '=', id)
  else query = query.where((eb) => eb.or([has(failed), has(retrying)]))
  if (handler !== undefined) query = query.where('handler', '=', handler)
  if (before) {
    const [lastAt, lastId] = before
    query = query.where((eb) =>
      eb.or([eb('last_at', '<', lastAt), eb.and([eb('last_at', '=', lastAt), eb('id', '<', lastId)])]),
    )
  }
  return query.orderBy('last_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

function countOf(which: RawBuilder<unknown>) {
  return sql<number>`(select count(*) from (
    select 1 from event_queue q where q.failure_group = failure_groups.id and ${which} limit ${sql.lit(mostCounted)}
  ) counted)`
}

interface Hour {
  at: number
  count: number
}

/** The hourly counts of groups since a time, by group, the oldest first. */
async function readHours(
  reader: Queryable,
  ids: readonly string[],
  since: number,
): Promise<Map<string, Hour[]>> {
  if (ids.length === 0) return new Map()
  const rows = await reader
    .selectFrom('receiving_activity')
    .select(['name', 'slot as at', 'count'])
    .where('kind', '=', 'failure')
    .where('name', 'in', [...ids])
    .where('slot', '>=', since)
    .orderBy('slot')
    .execute()
  return Map.groupBy(rows, ({ name }) => name)
}

/** The newest failed or retried event of a group with its whole last error; else the newest that had failed. */
async function readSample(reader: Queryable, group: string) {
  return reader
    .selectFrom('event_queue as q')
    .innerJoin('handler_failures as f', 'f.event', 'q.event')
    .select(['q.event', 'f.error', 'f.at', 'f.duration_ms'])
    .where('q.failure_group', '=', group)
    .where('q.event', '=', (eb) =>
      eb
        .selectFrom('event_queue as newest')
        .innerJoin('handler_failures as any', 'any.event', 'newest.event')
        .select('newest.event')
        .where('newest.failure_group', '=', group)
        .orderBy('newest.event', 'desc')
        .limit(1),
    )
    .orderBy('f.number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

const tags = ['events']

const hour = 3_600_000

/** Milliseconds of the counts in a list, and of those of one group. */
const shown = { list: 24 * hour, one: 7 * 24 * hour }

const Group = closedObject({
  id: Type.String(),
  handler: Type.String({ description: 'The id of the handler that failed, as in `GET /handlers`' }),
  name: Type.String({ description: 'The name of the error, such as `TypeError`' }),
  message: Type.String({
    description:
      'The first line of its message; `…` stands for numbers, ids and quoted texts, which differ between failures',
  }),
  frame: nullable(Type.String(), 'The function and file of the first stack frame of your own code'),
  firstAt: DateTime,
  lastAt: DateTime,
  count: Type.Integer({ description: 'Failed attempts in all time, within two seconds' }),
  failed: Type.Integer({
    description: `Its events that failed after their last attempt; ${mostCounted} stands for that many or more`,
  }),
  retrying: Type.Integer({
    description: 'Its events that wait for another attempt, counted in the same way',
  }),
  hours: Type.Array(Type.Object({ at: DateTime, count: Type.Integer() }), {
    description:
      'Failed attempts by hour: of a day in lists, of a week for one group. Hours without any are left out',
  }),
})

const GroupDetail = closedObject({
  ...Group.properties,
  error: nullable(Type.String(), 'The last error of its newest event, with the stack'),
  errorAt: nullable(DateTime),
  errorEvent: nullable(Type.Integer(), 'The number of that event'),
  events: Type.Array(Failed, {
    description: `Its newest events that have failed or are retried; \`GET /events/failed?group=\` has all`,
  }),
})

const limits = { default: 20, max: 50 }

/** Events that one group shows. */
const mostEvents = 10

/** Shows failures in groups, and lets people handle a group as one. */
export function failureRoutes(app: App, parts: ReceivingRouteParts): void {
  listRoute(app, parts)
  detailRoute(app, parts)
  rerunRoute(app, parts)
}

function listRoute(app: App, { database, cursors, clock }: ReceivingRouteParts): void {
  app.get(
    '/failures',
    route(
      { scope: 'events:read' },
      tags,
      'Handler failures with failed or retried events, grouped by cause, newest first',
      {
        querystring: Type.Object({
          handler: optionalText('Only groups of this handler, by its id'),
          ...pageParameters(limits),
        }),
        response: { 200: pageSchema(Group) },
      },
      { quiet: true },
    ),
    async ({ query }) => {
      const filter = {
        ...(query.handler && { handler: readText(query.handler, 'handler') }),
      }
      const limit = readLimit(query.limit, limits)
      const scope: CursorScope = {
        list: 'failures',
        keys: [
          { name: 'last_at', type: 'integer' },
          { name: 'id', type: 'text' },
        ],
        query: filter,
      }
      const before = query.cursor === undefined ? undefined : cursors.decode(scope, query.cursor)
      const rows = await listGroups(database.slowReader, filter, {
        ...(before && { before: before as unknown as readonly [number, string] }),
        limit: limit + 1,
      })
      const page = cursors.page(scope, rows, limit, ({ last_at, id }) => [last_at, id])
      const ids = page.rows.map(({ id }) => id)
      const hours = await readHours(database.slowReader, ids, clock.now() - shown.list)
      return viewPage(page, (row) => viewGroup(row, hours.get(row.id)))
    },
  )
}

function detailRoute(app: App, parts: ReceivingRouteParts): void {
  app.get(
    '/failures/:id',
    route(
      { scope: 'events:read' },
      tags,
      'One failure group',
      { params: IdParams, response: { 200: GroupDetail } },
      { quiet: true },
    ),
    async ({ params: { id } }) => {
      const { database, clock } = parts
      const { slowReader: reader } = database
      const row = await findGroup(parts, id)
      const hours = await readHours(reader, [id], clock.now() - shown.one)
      const sample = await readSample(reader, id)
      const events = await listFailed(database, { group: id }, undefined, mostEvents)
      return {
        ...viewGroup(row, hours.get(id)),
        error: sample?.error ?? null,
        errorAt: sample ? isoTime(sample.at + sample.duration_ms) : null,
        errorEvent: sample?.event ?? null,
        events: events.map(viewFailed),
      }
    },
  )
}

function rerunRoute(app: App, parts: ReceivingRouteParts): void {
  app.post(
    '/failures/:id/rerun',
    route(
      { scope: 'webhooks:write' },
      tags,
      'Run the handlers of all events in a failure group now. Returns a job',
      {
        description:
          'As `POST /events/reprocess` with its `group`: failed events get all of their attempts again, retried ones become due. `GET /jobs/{id}` shows the progress, `DELETE /jobs/{id}` cancels the rest.',
        params: IdParams,
        body: EmptyBody,
        response: { 202: JobView },
      },
      { optionalBody: true },
    ),
    async (request, reply) => {
      const { id } = request.params
      await findGroup(parts, id)
      const job = await parts.reprocessing.start({ group: id }, auditOrigin(request))
      return reply.code(202).send(viewJob(job))
    },
  )
}

async function findGroup({ database }: ReceivingRouteParts, id: string): Promise<CountedGroup> {
  const [row] = await listGroups(database.slowReader, { id }, { limit: 1 })
  if (!row)
    throw new Problem('not-found', { detail: 'There is no such group of failures, or it was deleted.' })
  return row
}

function viewGroup(row: CountedGroup, hours: readonly Hour[] = []) {
  return {
    ...row,
    firstAt: isoTime(row.first_at),
    lastAt: isoTime(row.last_at),
    hours: hours.map(({ at, count }) => ({ at: isoTime(at), count })),
  }
}
