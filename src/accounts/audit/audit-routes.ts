import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import {
  invalidParameter,
  pageSchema,
  viewPage,
  pageParameters,
  readPageRequest,
  readTimeParameter,
} from '../../paging/parameters.ts'
import { auditPages, entryLine, presentEntry, viewNamedEntries, type AuditStart } from './audit-reader.ts'
import { auditPage, parseAuditFilter } from './audit-log.ts'
import type { AccountServices } from '../services.ts'
import { signedIn } from '../routes.ts'
import { optionalText, DateTime, nullable } from '../../http/schemas/schemas.ts'
import { Readable } from 'node:stream'
import { closedSignal } from '../../http/connections/closing.ts'
import { acceptedCoding, encodeStream } from '../../http/caching/tagged-answer.ts'
import { auditActions } from './audit.ts'
import type { Row } from '../../storage/tables.ts'

/** GET /audit for admins, and GET /auth/audit for a user's own account. */
export function auditRoutes(scope: App, services: AccountServices): void {
  auditExportRoute(scope, services)
  adminRoute(scope, services)
  ownRoute(scope, services)
}

function adminRoute(scope: App, services: AccountServices): void {
  scope.get(
    '/audit',
    route({ scope: 'admin' }, ['sign-in'], 'The audit log, newest first', {
      querystring: Type.Object({
        ...auditFilters,
        userId: optionalText('About this account'),
        actor: optionalText('By this actor, such as `user:…`, `key:…`, `cli` or `service`'),
        target: optionalText('About this other subject, such as `subscriber:…` or `key:…`'),
        address: optionalText('From this address, exactly'),
        supportId: optionalText('With this request ID, or reference ID: its first eight characters'),
        provider: optionalText('About this identity provider'),
        ...pageParameters(),
      }),
      response: { 200: pageSchema(Entry) },
    }),
    async ({ query }) => {
      const page = await auditPage(services, parseAuditFilter(query), readPageRequest(query))
      return viewNamedEntries(services.database, page)
    },
  )
}

function ownRoute(scope: App, services: AccountServices): void {
  scope.get(
    '/auth/audit',
    route('user', ['sign-in'], 'My audit log, newest first', {
      querystring: Type.Object(auditPaging),
      response: { 200: pageSchema(OwnEntry) },
    }),
    async ({ query, principal }) => {
      const { userId, onlyApp } = signedIn({ principal })
      // Entries show addresses and browsers of all sign-ins, which an app must not see.
      if (onlyApp !== undefined)
        throw new Problem('forbidden', {
          detail: 'This call needs a browser session, or an app that manages sessions.',
        })
      const { action, failed, since, until } = query
      const filter = { ...parseAuditFilter({ action, failed, since, until }), userId }
      const page = await auditPage(services, filter, readPageRequest(query))
      return viewPage(page, (row) => ownEntryOf(row, userId))
    },
  )
}

/** Hides addresses of admins. A user sees those of their own calls and of failed attempts. */
function ownEntryOf(row: Row<'audit_log'>, userId: string) {
  const { userId: _about, actor, sessionId: _session, detail: _detail, ...entry } = presentEntry(row)
  const byMe = actor === `user:${userId}`
  const byAnother = actor !== null && !byMe
  return { ...entry, byMe, ...(byAnother && { address: null, userAgent: null }) }
}

const mediaType = 'application/x-ndjson'
/** Exports of one address in a minute: enough to follow the log by polling every few seconds. */
const exportsPerMinute = 30

/** GET /audit/export: all entries after a position, as a stream. */
function auditExportRoute(app: App, { database }: AccountServices): void {
  app.get(
    '/audit/export',
    route(
      { scope: 'admin' },
      ['sign-in'],
      'The audit log as one JSON object per line, oldest first',
      {
        description:
          'Each line is an entry of `GET /audit` with its number `seq`. To follow the log, repeat the call with the last `seq` as `after`: it returns each entry once.',
        querystring: Type.Object({
          after: optionalText('Only entries with a greater `seq`'),
          since: optionalText('At this time or later, ISO 8601'),
        }),
        response: { 200: { description: 'A stream', content: { [mediaType]: { schema: Type.String() } } } },
      },
      {
        rateLimit: { max: exportsPerMinute },
        sends: { always: ['Content-Disposition', 'Vary'], sometimes: ['Content-Encoding'] },
      },
    ),
    async (request, reply) => {
      const start = parseStart(request.query)
      const coding = acceptedCoding(request.headers['accept-encoding'])
      reply.header('vary', 'Accept-Encoding').header('content-type', `${mediaType}; charset=utf-8`)
      reply.header('content-disposition', 'attachment; filename="audit.ndjson"')
      if (coding !== 'identity') reply.header('content-encoding', coding)
      if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
      const lines = Readable.from(linesOf(database, start, closedSignal(reply)), { objectMode: false })
      return reply.send(encodeStream(lines, coding) as never)
    },
  )
}

async function* linesOf(...of: Parameters<typeof auditPages>): AsyncGenerator<string> {
  for await (const rows of auditPages(...of)) yield rows.map(entryLine).join('')
}

/** @throws Problem `invalid-parameter` */
function parseStart({ after = '', since = '' }: { after?: string; since?: string }): AuditStart {
  const number = after === '' ? 0 : /^\d{1,15}$/.test(after) ? Number(after) : undefined
  if (number === undefined) throw invalidParameter('after', 'must be the `seq` of an entry')
  return { after: number, since: since === '' ? undefined : readTimeParameter(since, 'since') }
}

const own = {
  id: Type.String(),
  at: DateTime,
  action: Type.String({ description: Object.keys(auditActions).join(', ') }),
  provider: nullable(Type.String(), 'The identity provider'),
  providerId: nullable(Type.String(), "The provider's id of the identity"),
  target: nullable(Type.String(), 'Another subject, as kind:id, such as session:… or subscriber:…'),
  code: nullable(Type.String(), 'The reason of a failure; null for successes'),
  supportId: nullable(
    Type.String(),
    'The id of the request. Its first eight characters are the reference ID that pages show, and its log lines contain it',
  ),
  address: nullable(Type.String(), 'The address of the client'),
  userAgent: nullable(Type.String(), 'The browser'),
}
/** An entry for the user whom it is about. */
const OwnEntry = Type.Object({
  ...own,
  byMe: Type.Boolean({ description: 'Whether a credential of this account made the call' }),
})
/** An entry for admins. */
export const Entry = Type.Object({
  ...own,
  userId: nullable(Type.String(), 'The account that the entry is about'),
  userName: nullable(Type.String(), 'Its name, or its e-mail address'),
  actor: nullable(
    Type.String(),
    'The actor: user:…, key:…, owner:…, cli, schedule or service; null when it is unknown',
  ),
  actorName: nullable(Type.String(), 'The name of the user, API key or app'),
  targetName: nullable(
    Type.String(),
    'The name of the target, if it is a user, an API key, an app or a subscriber',
  ),
  sessionId: nullable(Type.String(), 'The session that made the call'),
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
})
const auditFilters = {
  action: optionalText('One action'),
  failed: optionalText('true: only failures; false: only successes'),
  since: optionalText('At this time or later, ISO 8601'),
  until: optionalText('Before this time, ISO 8601'),
}
export const auditPaging = { ...auditFilters, ...pageParameters() }
