import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { auditFilters, auditPaging, Entry, OwnEntry } from './audit-schemas.ts'
import { presentEntry } from './audit-entry.ts'
import { viewNamedEntries } from './named-entries.ts'
import { auditExportRoute } from './audit-export-route.ts'
import { parseAuditFilter, type AuditLog, type AuditRow } from './audit-log.ts'
import type { AuditReader } from './audit-reader.ts'
import type { Database } from '../../storage/database.ts'
import { signedIn } from '../routes.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

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
          ...auditFilters,
          userId: optionalText('About this account'),
          actor: optionalText('By this actor, such as `user:…`, `key:…`, `cli` or `service`'),
          target: optionalText('About this other subject, such as `subscriber:…` or `key:…`'),
          address: optionalText('From this address, exactly'),
          provider: optionalText('About this identity provider'),
          ...pageParameters(),
        }),
        response: { 200: pageSchema(Entry) },
      },
    },
    async ({ query }) => {
      const page = await log.page(parseAuditFilter(query), readPageRequest(query))
      return viewNamedEntries(database, page)
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
        querystring: Type.Object(auditPaging),
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
      const page = await log.page(filter, readPageRequest(query))
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
