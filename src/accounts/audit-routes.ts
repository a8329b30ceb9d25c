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
import { DateTime, describedText } from '../http/schemas.ts'

const limits = { default: 20, max: 100 }

const own = {
  id: Type.String(),
  at: DateTime,
  action: Type.String({ description: Object.keys(auditActions).join(', ') }),
  provider: describedText('The identity provider'),
  providerId: describedText("The provider's id of the identity"),
  target: describedText('Another subject, as kind:id, such as session:… or subscriber:…'),
  code: describedText('The reason of a failure; null for successes'),
  supportId: describedText('The support id: the page shows it, and the request log contains it'),
  address: describedText('The address of the client'),
  userAgent: describedText('The browser'),
}
const OwnEntry = Type.Object({
  ...own,
  byMe: Type.Boolean({ description: 'Whether a credential of this account made the call' }),
})
const Entry = Type.Object({
  ...own,
  userId: describedText('The account that the entry is about'),
  actor: describedText(
    'The actor: user:…, key:…, owner:…, cli, schedule or service; null when it is unknown',
  ),
  sessionId: describedText('The session that made the call'),
  detail: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
})
const paging = {
  limit: limitParameter(limits),
  cursor: Type.Optional(Type.String({ description: 'The nextCursor of the previous page' })),
}
const filters = {
  action: Type.Optional(Type.String({ description: 'One action' })),
  failed: Type.Optional(Type.String({ description: 'true: only failures; false: only successes' })),
  since: Type.Optional(Type.String({ description: 'At this time or later, ISO 8601' })),
  until: Type.Optional(Type.String({ description: 'Before this time, ISO 8601' })),
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
          userId: Type.Optional(Type.String({ description: 'About this account' })),
          provider: Type.Optional(Type.String({ description: 'About this identity provider' })),
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
