import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import {
  closedObject,
  DateTime,
  EmptyBody,
  IdParams,
  listSchema,
  nullable,
} from '../../http/schemas/schemas.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import { describeHandlers, mostCounted } from './describe.ts'

const tags = ['receiving']

const Handler = closedObject({
  id: Type.String({
    description: 'The declared type or pattern; `forwardTo:SOURCE` for a forwarded source',
  }),
  pattern: Type.String(),
  source: nullable(Type.String(), 'The only source of its events, if it forwards them'),
  forwardTo: nullable(Type.String(), 'The address that events are posted to, without its query'),
  slots: Type.Integer({ description: 'Events that it handles at once' }),
  slotsOf: Type.Enum(['all processes', 'source and process'], {
    description: 'What the slots are counted for: a declared concurrency holds for all processes together',
  }),
  timeoutSeconds: Type.Number(),
  ordered: Type.Boolean({ description: 'Whether it declares an order key' }),
  paused: nullable(
    Type.Object({
      at: DateTime,
      by: nullable(Type.String(), 'Who paused it, as in the audit log'),
      byName: nullable(Type.String(), 'The name of that user, API key or app'),
    }),
    'Null unless it is paused',
  ),
  waiting: Type.Integer({
    description: `Events that have not failed and wait; ${mostCounted.waiting} are counted of each source and type at most`,
  }),
  retrying: Type.Integer({ description: 'Events that failed and wait for their next attempt' }),
  failed: Type.Integer({ description: 'Events that failed after their last attempt' }),
  lagSeconds: Type.Number({ description: 'Age of its oldest due event' }),
  recent: Type.Object(
    {
      handled: Type.Integer(),
      failures: Type.Integer(),
      errorRate: nullable(Type.Number()),
      durationMs: nullable(Type.Integer(), 'The mean of the runs without an error'),
    },
    { description: 'Of the last hour' },
  ),
  lastHandledAt: nullable(DateTime),
  lastFailureAt: nullable(DateTime),
  activity: Type.Array(
    Type.Object({
      at: DateTime,
      handled: Type.Integer(),
      failures: Type.Integer(),
      durationMs: nullable(Type.Integer()),
    }),
    { description: 'The last 24 hours in quarters of an hour; those without an attempt are left out' },
  ),
})

export function handlerRoutes(app: App, parts: ReceivingRouteParts): void {
  listRoute(app, parts)
  detailRoute(app, parts)
  switchRoute(app, parts, 'pause')
  switchRoute(app, parts, 'resume')
}

function listRoute(app: App, parts: ReceivingRouteParts): void {
  app.get(
    '/handlers',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: {
        tags,
        summary: 'Handlers, with backlog and recent activity',
        response: { 200: listSchema(Handler) },
      },
    },
    async () => ({ data: await describeHandlers(parts) }),
  )
}

function detailRoute(app: App, parts: ReceivingRouteParts): void {
  app.get(
    '/handlers/:id',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: { tags, summary: 'One handler', params: IdParams, response: { 200: Handler } },
    },
    async ({ params: { id } }) => describeOne(parts, id),
  )
}

const switches = {
  pause: {
    summary: 'Pause a handler; its events wait until you resume it',
    description:
      'Within two seconds, no process starts it. Running events end. Events that other handlers match too wait for all of them. Events are still accepted.',
  },
  resume: { summary: 'Resume a paused handler' },
} as const

function switchRoute(app: App, parts: ReceivingRouteParts, name: keyof typeof switches): void {
  const { database, paused } = parts
  app.post(
    `/handlers/:id/${name}`,
    {
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      schema: { tags, ...switches[name], params: IdParams, body: EmptyBody, response: { 200: Handler } },
    },
    async (request, reply) => {
      const { id } = request.params
      await (name === 'pause' ? pause : resume)(parts, id, auditOrigin(request))
      paused.forget()
      database.signal('event_queue')
      return reply.send(await describeOne(parts, id))
    },
  )
}

async function describeOne(parts: ReceivingRouteParts, id: string) {
  const [found] = await describeHandlers(parts, id)
  if (!found) throw new Problem('not-found', { detail: 'The configuration declares no such handler.' })
  return found
}

/** Pauses a handler; one that is paused already stays so. @throws Problem `not-found` */
async function pause(parts: ReceivingRouteParts, id: string, origin: AuditOrigin): Promise<void> {
  const { database, clock, record, entries } = parts
  if (!entries.some(({ handler }) => handler.id === id))
    throw new Problem('not-found', { detail: 'The configuration declares no such handler.' })
  await database.transaction(async (tx) => {
    const { numInsertedOrUpdatedRows: added } = await tx
      .insertInto('paused_handlers')
      .values({ handler: id, paused_at: clock.now(), paused_by: origin.actor ?? null })
      .onConflict((conflict) => conflict.column('handler').doNothing())
      .executeTakeFirstOrThrow()
    if (added) await record(tx, { action: 'handler.paused', target: `handler:${id}`, ...origin })
  })
}

/** Resumes a handler. One that is not paused, or not declared any more, may be named. */
async function resume(parts: ReceivingRouteParts, id: string, origin: AuditOrigin): Promise<void> {
  const { database, record } = parts
  await database.transaction(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('paused_handlers')
      .where('handler', '=', id)
      .executeTakeFirst()
    if (numDeletedRows > 0n)
      await record(tx, { action: 'handler.resumed', target: `handler:${id}`, ...origin })
  })
}
