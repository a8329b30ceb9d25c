import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../accounts/audit/audit.ts'
import { Problem } from '../errors.ts'
import { type App, route } from '../http/app.ts'
import { closedObject, DateTime, EmptyBody, IdParams, listSchema, nullable } from '../http/schemas/schemas.ts'
import type { ReceivingRouteParts } from './routes.ts'
import { readSubjectNames } from '../accounts/audit/audit-log.ts'
import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import type { Queryable } from '../storage/database.ts'
import { type Activities, readActivity } from './activity.ts'
import type { RegisteredHandler } from './handlers/declared-handlers.ts'
import type { EventQueue, Kind } from './queue/store.ts'
import { sql } from 'kysely'
import { pagesOfKinds } from './worker/due-kinds.ts'

/** Events of a kind, and failed or retried events in total, that one call counts at most. */
const mostCounted = { waiting: 1_000, failed: 10_000 }

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
    description:
      'Whether the slots are shared by all processes, as with a declared concurrency, or each source in each process has its own',
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
  app.get(
    '/handlers',
    route(
      { scope: 'webhooks:read' },
      tags,
      'Handlers, with backlog and recent activity',
      { response: { 200: listSchema(Handler) } },
      { quiet: true },
    ),
    async () => ({ data: await describeHandlers(parts) }),
  )
  app.get(
    '/handlers/:id',
    route(
      { scope: 'webhooks:read' },
      tags,
      'One handler',
      { params: IdParams, response: { 200: Handler } },
      { quiet: true },
    ),
    async ({ params: { id } }) => describeOne(parts, id),
  )
  switchRoute(app, parts, 'pause')
  switchRoute(app, parts, 'resume')
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

/** Milliseconds that count as recent. */
const recently = 3_600_000
const day = 86_400_000
/** What a source without a declared concurrency may run at once in each process. */
const defaultSlots = 8

/** A declared handler, or what forwards the events of a source. */
export interface HandlerEntry {
  readonly handler: RegisteredHandler
  /** For forwarding: the source, and the address without its query. */
  readonly forward?: { readonly source: string; readonly to: string }
}

interface Backlog {
  waiting: number
  retrying: number
  failed: number
  oldestDueAt: number | undefined
}

async function describeHandlers(parts: ReceivingRouteParts, id?: string) {
  const { database, clock, entries } = parts
  const { slowReader: reader } = database
  const now = clock.now()
  const filter = { since: now - day, ...(id !== undefined && { name: id }) }
  const [paused, activities, backlogs] = await Promise.all([
    readPaused(reader),
    readActivity(reader, 'handler', filter),
    readBacklogs(parts, now),
  ])
  const names = await readSubjectNames(
    database,
    [...paused.values()].map((pause) => pause.paused_by),
  )
  return entries
    .filter(({ handler }) => id === undefined || handler.id === id)
    .map(({ handler, forward }) => {
      const { key, timeout, concurrency, orderBy } = handler
      const pause = paused.get(handler.id)
      const { waiting = 0, retrying = 0, failed = 0, oldestDueAt = now } = backlogs.get(handler.id) ?? {}
      return Object.assign(viewActivity(activities.get(handler.id), now), {
        id: handler.id,
        pattern: forward ? '*' : key,
        source: forward?.source ?? null,
        forwardTo: forward?.to ?? null,
        slots: concurrency ?? defaultSlots,
        slotsOf: concurrency === undefined ? ('source and process' as const) : ('all processes' as const),
        timeoutSeconds: timeout / 1000,
        ordered: orderBy !== undefined,
        paused: pause
          ? {
              at: isoTime(pause.paused_at),
              by: pause.paused_by,
              byName: names.get(pause.paused_by ?? '') ?? null,
            }
          : null,
        waiting,
        retrying,
        failed,
        lagSeconds: Math.round(Math.max(0, now - oldestDueAt) / 100) / 10,
      })
    })
}

function viewActivity(activity: Activities | undefined, now: number) {
  const { slots = [], lastAt } = activity ?? {}
  const recent = slots.filter(({ at }) => at > now - recently)
  const sum = (counter: string): number =>
    recent.reduce((total, { counts }) => total + (counts[counter] ?? 0), 0)
  const [handled, failures] = [sum('handled'), sum('failed')]
  return {
    recent: {
      handled,
      failures,
      errorRate: handled + failures === 0 ? null : failures / (handled + failures),
      durationMs: handled === 0 ? null : Math.round(sum('milliseconds') / handled),
    },
    lastHandledAt: isoTimeOrNull(lastAt?.get('handled')),
    lastFailureAt: isoTimeOrNull(lastAt?.get('failed')),
    activity: slots.map(({ at, counts }) => ({
      at: isoTime(at),
      handled: counts['handled'] ?? 0,
      failures: counts['failed'] ?? 0,
      durationMs: counts['handled'] ? Math.round((counts['milliseconds'] ?? 0) / counts['handled']) : null,
    })),
  }
}

/** The pending and failed events of each handler, by its id. An event counts for every handler that matches it. */
async function readBacklogs(
  { database, store, planOf }: ReceivingRouteParts,
  now: number,
): Promise<Map<string, Backlog>> {
  const { slowReader: reader } = database
  const backlogs = new Map<string, Backlog>()
  const each = ({ source, type }: Kind, add: (backlog: Backlog) => void): void => {
    for (const { id } of planOf(source, type).handlers) {
      let found = backlogs.get(id)
      if (!found) backlogs.set(id, (found = { waiting: 0, retrying: 0, failed: 0, oldestDueAt: undefined }))
      add(found)
    }
  }
  for (const kind of await readWaiting(store, reader, now))
    each(kind, (backlog) => {
      backlog.waiting += kind.count
      if (kind.dueAt <= now) backlog.oldestDueAt = Math.min(kind.dueAt, backlog.oldestDueAt ?? kind.dueAt)
    })
  for (const which of ['retrying', 'failed'] as const)
    for (const kind of await countFailed(reader, which))
      each(kind, (backlog) => {
        backlog[which] += kind.count
      })
  return backlogs
}

/** Pages of pending kinds that one call reads at most. */
const mostPages = 3

interface WaitingKind extends Kind {
  /** The earliest due time, in milliseconds since 1970. */
  readonly dueAt: number
  /** At most `mostCounted.waiting`. */
  readonly count: number
}

/** Reads the kinds that have pending events without a lease, and how many have not failed yet. */
async function readWaiting(
  store: Pick<EventQueue, 'pendingKinds'>,
  reader: Queryable,
  now: number,
): Promise<WaitingKind[]> {
  const kinds: Omit<WaitingKind, 'count'>[] = []
  for await (const some of pagesOfKinds(store, now, mostPages)) kinds.push(...some)
  if (kinds.length === 0) return []
  // With one statement, because there can be hundreds.
  const counts = kinds.map(
    ({ source, type }, place) => sql<{ place: number; count: number }>`
      select ${sql.lit(place)} as place, (select count(*) from (select 1 from event_queue
        where status = 'pending' and source = ${source} and type = ${type} and failed_at is null
        limit ${sql.lit(mostCounted.waiting)}) counted) as count`,
  )
  const { rows } = await sql<{ place: number; count: number }>`${sql.join(counts, sql` union all `)}`.execute(
    reader,
  )
  const byPlace = new Map(rows.map(({ place, count }) => [place, count]))
  return kinds.map((kind, place) => Object.assign(kind, { count: byPlace.get(place) ?? 0 }))
}

/** The failed, or the retried events by kind; of more than `mostCounted.failed`, the newest. */
async function countFailed(
  reader: Queryable,
  which: 'failed' | 'retrying',
): Promise<(Kind & { count: number })[]> {
  return reader
    .selectFrom(
      reader
        .selectFrom('event_queue')
        .select(['source', 'type'])
        .$if(which === 'failed', (query) => query.where('status', '=', 'failed'))
        .$if(which === 'retrying', (query) =>
          query.where('status', '=', 'pending').where('failed_at', 'is not', null),
        )
        .orderBy('event', 'desc')
        .limit(mostCounted.failed)
        .as('some'),
    )
    .select(['source', 'type', sql<number>`count(*)`.as('count')])
    .groupBy(['source', 'type'])
    .execute()
}

async function readPaused(reader: Queryable) {
  const rows = await reader.selectFrom('paused_handlers').selectAll().execute()
  return new Map(rows.map((row) => [row.handler, row]))
}
