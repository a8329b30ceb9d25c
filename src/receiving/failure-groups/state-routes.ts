import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import type { AuditAction } from '../../accounts/audit/audit-actions.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readBodyFilters } from '../../http/requests/body-filters.ts'
import { readTimeParameter } from '../../paging/time-parameter.ts'
import type { FailureGroupState } from '../../storage/tables.ts'
import { readHours } from './store.ts'
import { type FailureRouteParts, tags, hour, shown, Group, findGroup, notFound, viewGroup } from './view.ts'
import { closedObject, EmptyBody, IdParams } from '../../http/schemas/schemas.ts'

/** The longest time that a group can be snoozed. */
const longestSnooze = 30 * 24 * hour

export function stateRoutes(app: App, parts: FailureRouteParts): void {
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
  declare('acknowledge', 'Acknowledge a group of failures', 'acknowledged', 'failure.acknowledged')
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
