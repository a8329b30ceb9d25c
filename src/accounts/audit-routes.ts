import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { readLimit } from '../paging/limit.ts'
import { pageSchema, viewPage } from '../paging/page.ts'
import { limitParameter } from '../paging/parameters.ts'
import { auditActions } from './audit-actions.ts'
import { presentEntry } from './audit-entry.ts'
import { readSubjectNames } from './subject-names.ts'
import { auditExportRoute } from './audit-export-route.ts'
import { parseAuditFilter, type AuditLog, type AuditRow } from './audit-log.ts'
import type { AuditReader } from './audit-reader.ts'
import type { Database } from '../storage/database.ts'
import { signedIn } from './routes.ts'
import { DateTime, nullable, optionalText } from '../http/schemas/schemas.ts'

const limits = { default: 20, max: 100 }

const own = {
  id: Type.String(),
  at: DateTime,
  action: Type.String({ description: Object.keys(auditActions).join(', ') }),
  provider: nullable(Type.String(), 'The identity provider'),
  providerId: nullable(Type.String(), "The provider's id of the identity"),
  target: nullable(Type.String(), 'Another subject, as kind:id, such as session:… or subscriber:…'),
  code: nullable(Type.String(), 'The reason of a failure; null for successes'),
  supportId: nullable(Type.String(), 'The support id: the page shows it, and the request log contains it'),
  address: nullable(Type.String(), 'The address of the client'),
  userAgent: nullable(Type.String(), 'The browser'),
}
const OwnEntry = Type.Object({
  ...own,
  byMe: Type.Boolean({ description: 'Whether a credential of this account made the call' }),
})
const Entry = Type.Object({
  ...own,
  userId: nullable(Type.String(), 'The account that the entry is about'),
  userName: nullable(Type.String(), 'Its name, or its e-mail address'),
  actor: nullable(
    Type.String(),
    'The actor: user:…, key:…, owner:…, cli, schedule or service; null when it is unknown',
  ),
  actorName: nullable(Type.String(), 'The name of the user, API key or app'),
  targetName: nullable(Type.String(), 'The name of the target, if it is a user, an API key or an app'),
  sessionId: nullable(Type.String(), 'The session that made the call'),
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
})
const paging = {
  limit: limitParameter(limits),
  cursor: optionalText('The nextCursor of the previous page'),
}
const filters = {
  action: optionalText('One action'),
  failed: optionalText('true: only failures; false: only successes'),
  since: optionalText('At this time or later, ISO 8601'),
  until: optionalText('Before this time, ISO 8601'),
}

/** GET /audit for admins, and GET /auth/audit for a user's own account. */
export function auditRoutes(
  scope: App,
  log: AuditLog,
  reader: AuditReader,
  database: Pick<Database, 'reader'>,
): void {
  auditExportRoute(scope, reader)
  adminRoute(scope, log, database)
  ownRoute(scope, log)
}

function adminRoute(scope: App, log: AuditLog, database: Pick<Database, 'reader'>): void {
  scope.get(
    '/audit',
    {
      config: { access: { scope: 'admin' } },
      schema: {
        tags: ['sign-in'],
        summary: 'The audit log, newest first',
        querystring: Type.Object({
          ...filters,
          userId: optionalText('About this account'),
          actor: optionalText('By this actor, such as `user:…`, `key:…`, `cli` or `service`'),
          target: optionalText('About this other subject, such as `subscriber:…` or `key:…`'),
          address: optionalText('From this address, exactly'),
          provider: optionalText('About this identity provider'),
          ...paging,
        }),
        response: { 200: pageSchema(Entry) },
      },
    },
    async ({ query }) => {
      const page = await log.page(parseAuditFilter(query), readLimit(query.limit, limits), query.cursor)
      const userOf = (row: AuditRow): string => `user:${row.user_id}`
      const names = await readSubjectNames(
        database,
        page.rows.flatMap((row) => [userOf(row), row.actor, row.target]),
      )
      return viewPage(page, (row) => ({
        ...presentEntry(row),
        userName: names.get(userOf(row)) ?? null,
        actorName: names.get(row.actor ?? '') ?? null,
        targetName: names.get(row.target ?? '') ?? null,
      }))
    },
  )
}

function ownRoute(scope: App, log: AuditLog): void {
  scope.get(
    '/auth/audit',
    {
      config: { access: 'user' },
      schema: {
        tags: ['sign-in'],
        summary: 'The audit log of my account, newest first',
        querystring: Type.Object({ ...filters, ...paging }),
        response: { 200: pageSchema(OwnEntry) },
      },
    },
    async ({ query, principal }) => {
      const { userId, onlyApp } = signedIn({ principal })
      // Entries show addresses and browsers of all sign-ins, which an app must not see.
      if (onlyApp !== undefined)
        throw new Problem('forbidden', {
          detail: 'This call needs a browser session, or an app that manages sessions.',
        })
      const { action, failed, since, until } = query
      const filter = { ...parseAuditFilter({ action, failed, since, until }), userId }
      const page = await log.page(filter, readLimit(query.limit, limits), query.cursor)
      return viewPage(page, (row) => ownEntryOf(row, userId))
    },
  )
}

/** Hides addresses of admins. A user sees those of their own calls and of failed attempts. */
function ownEntryOf(row: AuditRow, userId: string) {
  const { userId: _about, actor, sessionId: _session, detail: _detail, ...entry } = presentEntry(row)
  const byMe = actor === `user:${userId}`
  const byAnother = actor !== null && !byMe
  return { ...entry, byMe, ...(byAnother && { address: null, userAgent: null }) }
}
