import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import { JobView, viewJob } from '../../events/jobs/job.ts'
import type { App } from '../../http/app.ts'
import { closedObject, EmptyBody, IdParams, optionalText } from '../../http/schemas/schemas.ts'
import type { CursorScope } from '../../paging/cursor.ts'
import { readChoice, readText, readTimeParameter } from '../../paging/filter-parameters.ts'
import { readLimit } from '../../paging/limit.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters } from '../../paging/parameters.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { viewFailed } from '../failed/routes.ts'
import { listFailed } from '../failed/store.ts'
import { groupStates, listGroups, readHours, readSample } from './store.ts'
import {
  type FailureRouteParts,
  findGroup,
  Group,
  GroupDetail,
  hour,
  notFound,
  shown,
  tags,
  viewGroup,
} from './view.ts'
import type { AuditAction } from '../../accounts/audit/audit-actions.ts'
import { Problem } from '../../errors.ts'
import { readBodyFilters } from '../../http/requests/body-filters.ts'
import type { FailureGroupState } from '../../storage/tables.ts'

const limits = { default: 20, max: 50 }

/** Events that one group shows. */
const mostEvents = 10

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
        summary: 'Handler failures, grouped by cause, newest first',
        querystring: Type.Object({
          state: optionalText(`Only groups in this state: ${groupStates.join(', ')}`),
          handler: optionalText('Only groups of this handler, by its id'),
          ...pageParameters(limits),
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
      schema: { tags, summary: 'One failure group', params: IdParams, response: { 200: GroupDetail } },
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

function rerunRoute(app: App, parts: FailureRouteParts): void {
  app.post(
    '/failures/:id/rerun',
    {
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      schema: {
        tags,
        summary: 'Run the handlers of all events in a failure group now. Returns a job',
        description:
          'As `POST /events/reprocess` with its `group`: failed events get all of their attempts again, retried ones become due. `GET /jobs/{id}` shows the progress, `DELETE /jobs/{id}` cancels the rest.',
        params: IdParams,
        body: EmptyBody,
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

/** The longest time that a group can be snoozed. */
const longestSnooze = 30 * 24 * hour

function stateRoutes(app: App, parts: FailureRouteParts): void {
  const declare = (name: string, summary: string, state: FailureGroupState, action: AuditAction): void => {
    app.post(
      `/failures/:id/${name}`,
      {
        config: { access: { scope: 'webhooks:write' }, optionalBody: true },
        schema: { tags, summary, params: IdParams, body: EmptyBody, response: { 200: Group } },
      },
      async (request) =>
        setState(parts, request.params.id, { state, until: null, action }, auditOrigin(request)),
    )
  }
  declare('acknowledge', 'Acknowledge a failure group', 'acknowledged', 'failure.acknowledged')
  declare('reopen', 'Reopen an acknowledged or snoozed failure group', 'open', 'failure.reopened')
  snoozeRoute(app, parts)
}

function snoozeRoute(app: App, parts: FailureRouteParts): void {
  app.post(
    '/failures/:id/snooze',
    {
      config: { access: { scope: 'webhooks:write' } },
      schema: {
        tags,
        summary: 'Snooze a failure group until a time, at most 30 days from now',
        params: IdParams,
        body: closedObject({ until: Type.String({ description: 'ISO 8601' }) }),
        response: { 200: Group },
      },
    },
    async (request, reply) => {
      const until = readBodyFilters(() => readTimeParameter(request.body.until, 'until'))
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
