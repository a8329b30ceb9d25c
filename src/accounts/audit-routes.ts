import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { readLimit } from '../paging/limit.ts'
import { pageSchema, viewPage } from '../paging/page.ts'
import { limitParameter } from '../paging/parameters.ts'
import { auditActions } from './audit-actions.ts'
import { presentEntry } from './audit-entry.ts'
import { auditExportRoute } from './audit-export-route.ts'
import { parseAuditFilter, type AuditLog, type AuditRow } from './audit-log.ts'
import type { AuditReader } from './audit-reader.ts'
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
  actor: nullable(
    Type.String(),
    'The actor: user:…, key:…, owner:…, cli, schedule or service; null when it is unknown',
  ),
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
export function auditRoutes(scope: App, log: AuditLog, reader: AuditReader): void {
  auditExportRoute(scope, reader)
  adminRoute(scope, log)
  ownRoute(scope, log)
}

function adminRoute(scope: App, log: AuditLog): void {
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
          provider: optionalText('About this identity provider'),
          ...paging,
        }),
        response: { 200: pageSchema(Entry) },
      },
    },
    async ({ query }) => {
      const page = await log.page(parseAuditFilter(query), readLimit(query.limit, limits), query.cursor)
      return viewPage(page, presentEntry)
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
