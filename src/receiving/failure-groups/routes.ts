import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin, type RecordAudit } from '../../accounts/audit/audit.ts'
import type { AuditAction } from '../../accounts/audit/audit-actions.ts'
import { Problem } from '../../errors.ts'
import { JobView, viewJob } from '../../events/jobs/job.ts'
import type { App } from '../../http/app.ts'
import { DateTime, nullable, optionalText } from '../../http/schemas/schemas.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import { readChoice, readText } from '../../paging/filter-parameters.ts'
import { readLimit } from '../../paging/limit.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { limitParameter } from '../../paging/parameters.ts'
import { readTimeParameter } from '../../paging/time-parameter.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import type { FailureGroupState } from '../../storage/tables.ts'
import type { Reprocessing } from '../failed/reprocess.ts'
import { Failed, viewFailed } from '../failed/routes.ts'
import { listFailed } from '../failed/store.ts'
import { groupStates, listGroups, mostCounted, readHours, readSample, type CountedGroup } from './store.ts'

export interface FailureRouteParts {
  database: Database
  clock: Clock
  cursors: Cursors
  record: RecordAudit
  reprocessing: Reprocessing
}

const tags = ['events']
const limits = { default: 20, max: 50 }
const hour = 3_600_000
/** Milliseconds of the counts in a list, and of those of one group. */
const shown = { list: 24 * hour, one: 7 * 24 * hour }
/** Events that one group shows. */
const mostEvents = 10
/** The longest time that a group can be snoozed. */
const longestSnooze = 30 * 24 * hour

const Group = Type.Object(
  {
    id: Type.String(),
    handler: Type.String({ description: 'The id of the handler that failed, as in `GET /handlers`' }),
    name: Type.String({ description: 'The name of the error, such as `TypeError`' }),
    message: Type.String({
      description:
        'The first line of its message; `…` stands for numbers, ids and quoted texts, which differ between failures',
    }),
    frame: nullable(Type.String(), 'The function and file of the first stack frame of your own code'),
    state: Type.Enum([...groupStates], {
      description:
        '`resolved`: none of its events has failed or is retried. `acknowledged`: until, after an hour without a failure, another event fails. `snoozed`: until `snoozedUntil`',
    }),
    snoozedUntil: nullable(DateTime),
    stateBy: nullable(Type.String(), 'Who acknowledged or snoozed it, as in the audit log'),
    stateAt: nullable(DateTime),
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
  },
  { additionalProperties: false },
)

const GroupDetail = Type.Object(
  {
    ...Group.properties,
    error: nullable(Type.String(), 'The last error of its newest event, with the stack'),
    errorAt: nullable(DateTime),
    errorEvent: nullable(Type.Integer(), 'The number of that event'),
    events: Type.Array(Failed, {
      description: `Its newest events that have failed or are retried; \`GET /events/failed?group=\` has all`,
    }),
  },
  { additionalProperties: false },
)

const Id = Type.Object({ id: Type.String() })

/** Shows failures in groups, and lets people handle a group as one. */
export function failureRoutes(app: App, parts: FailureRouteParts): void {
  listRoute(app, parts)
  detailRoute(app, parts)
  stateRoutes(app, parts)
  rerunRoute(app, parts)
}

function listRoute(app: App, { database, cursors, clock }: FailureRouteParts): void {
  app.get(
    '/failures',
    {
      config: { access: { scope: 'events:read' }, quiet: true },
      schema: {
        tags,
        summary: 'Failures of handlers in groups with the same cause, the newest failure first',
        querystring: Type.Object({
          state: optionalText(`Only groups in this state: ${groupStates.join(', ')}`),
          handler: optionalText('Only groups of this handler, by its id'),
          limit: limitParameter(limits),
          cursor: optionalText('The nextCursor of the previous page'),
        }),
        response: { 200: pageSchema(Group) },
      },
    },
    async ({ query }) => {
      const filter = {
        ...(query.state && { state: readChoice(query.state, 'state', groupStates) }),
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
      const now = clock.now()
      const rows = await listGroups(database.readerAside, filter, now, {
        ...(before && { before: before as unknown as readonly [number, string] }),
        limit: limit + 1,
      })
      const page = cursors.page(scope, rows, limit, ({ last_at, id }) => [last_at, id])
      const ids = page.rows.map(({ id }) => id)
      const hours = await readHours(database.readerAside, ids, now - shown.list)
      return viewPage(page, (row) => viewGroup(row, hours.get(row.id)))
    },
  )
}

function detailRoute(app: App, parts: FailureRouteParts): void {
  app.get(
    '/failures/:id',
    {
      config: { access: { scope: 'events:read' }, quiet: true },
      schema: { tags, summary: 'One group of failures', params: Id, response: { 200: GroupDetail } },
    },
    async ({ params: { id } }) => {
      const { database, clock } = parts
      const { readerAside: reader } = database
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

function stateRoutes(app: App, parts: FailureRouteParts): void {
  const declare = (name: string, summary: string, state: FailureGroupState, action: AuditAction): void => {
    app.post(
      `/failures/:id/${name}`,
      {
        config: { access: { scope: 'webhooks:write' }, optionalBody: true },
        schema: {
          tags,
          summary,
          params: Id,
          body: Type.Object({}, { additionalProperties: false }),
          response: { 200: Group },
        },
      },
      async (request) =>
        setState(parts, request.params.id, { state, until: null, action }, auditOrigin(request)),
    )
  }
  declare(
    'acknowledge',
    'Acknowledge a group of failures: somebody takes care of it',
    'acknowledged',
    'failure.acknowledged',
  )
  declare('reopen', 'End the acknowledgement or snooze of a group of failures', 'open', 'failure.reopened')
  snoozeRoute(app, parts)
}

function snoozeRoute(app: App, parts: FailureRouteParts): void {
  app.post(
    '/failures/:id/snooze',
    {
      config: { access: { scope: 'webhooks:write' } },
      schema: {
        tags,
        summary: 'Snooze a group of failures until a time, 30 days from now at most',
        params: Id,
        body: Type.Object(
          { until: Type.String({ description: 'ISO 8601' }) },
          { additionalProperties: false },
        ),
        response: { 200: Group },
      },
    },
    async (request, reply) => {
      const until = readTimeParameter(request.body.until, 'until')
      const now = parts.clock.now()
      if (until <= now || until > now + longestSnooze)
        throw new Problem('invalid-body', {
          pointer: '/until',
          detail: 'The time is not in the next 30 days.',
        })
      const change = { state: 'snoozed', until, action: 'failure.snoozed' } as const
      return reply.send(await setState(parts, request.params.id, change, auditOrigin(request)))
    },
  )
}

function rerunRoute(app: App, parts: FailureRouteParts): void {
  app.post(
    '/failures/:id/rerun',
    {
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      schema: {
        tags,
        summary: 'Run the handlers of all events of a group of failures now. Returns a job',
        description:
          'As `POST /events/reprocess` with its `group`: failed events get all of their attempts again, retried ones become due. `GET /jobs/{id}` shows the progress, `DELETE /jobs/{id}` cancels the rest.',
        params: Id,
        body: Type.Object({}, { additionalProperties: false }),
        response: { 202: JobView },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      await findGroup(parts, id)
      const job = await parts.reprocessing.start({ group: id }, auditOrigin(request))
      return reply.code(202).send(viewJob(job))
    },
  )
}

interface StateChange {
  state: FailureGroupState
  until: number | null
  action: AuditAction
}

async function setState(
  parts: FailureRouteParts,
  id: string,
  { state, until, action }: StateChange,
  origin: AuditOrigin,
) {
  const { database, clock, record } = parts
  await database.transaction(async (tx) => {
    const changed = await tx
      .updateTable('failure_groups')
      .set({ state, snoozed_until: until, state_by: origin.actor ?? null, state_at: clock.now() })
      .where('id', '=', id)
      .executeTakeFirst()
    if (changed.numUpdatedRows === 0n) throw notFound()
    await record(tx, { action, target: `failure:${id}`, ...origin })
  })
  const hours = await readHours(database.readerAside, [id], clock.now() - shown.list)
  return viewGroup(await findGroup(parts, id), hours.get(id))
}

async function findGroup({ database, clock }: FailureRouteParts, id: string): Promise<CountedGroup> {
  const [row] = await listGroups(database.readerAside, { id }, clock.now(), { limit: 1 })
  if (!row) throw notFound()
  return row
}

const notFound = (): Problem =>
  new Problem('not-found', { detail: 'There is no such group of failures, or it was deleted.' })

function viewGroup(row: CountedGroup, hours: readonly { at: number; count: number }[] = []) {
  return {
    id: row.id,
    handler: row.handler,
    name: row.name,
    message: row.message,
    frame: row.frame,
    state: row.state,
    snoozedUntil: row.state === 'snoozed' ? isoTimeOrNull(row.snoozed_until) : null,
    stateBy: row.state_by,
    stateAt: isoTimeOrNull(row.state_at),
    firstAt: isoTime(row.first_at),
    lastAt: isoTime(row.last_at),
    count: row.count,
    failed: row.failed,
    retrying: row.retrying,
    hours: hours.map(({ at, count }) => ({ at: isoTime(at), count })),
  }
}
