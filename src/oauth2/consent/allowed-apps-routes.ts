import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import { signedIn } from '../../accounts/routes.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { DateTime, IdParams, noContent, nullable } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { OAuth2Services } from '../services.ts'

const tags = ['sign-in']

const AppList = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String({ description: 'The client id' }),
      name: Type.String(),
      firstParty: Type.Boolean({ description: 'Whether it belongs to the product, and needs no consent' }),
      scopes: Type.Array(Type.String()),
      since: DateTime,
      lastUsedAt: nullable(DateTime, 'Null when the user is not signed in there'),
    }),
  ),
})

/** /auth/apps and /users/{id}/apps: the apps that a user allowed, or in which the user is signed in. */
export function allowedAppsRoutes(routes: App, services: OAuth2Services): void {
  routes.get(
    '/auth/apps',
    route('user', tags, 'The apps that I allowed or am signed in to', { response: { 200: AppList } }),
    async ({ principal }) => {
      return { data: (await listApps(services, userOf({ principal }))).map(view) }
    },
  )
  routes.get(
    '/users/:id/apps',
    route({ scope: 'users:read' }, tags, 'The apps that a user allowed or is signed in to', {
      params: IdParams,
      response: { 200: AppList },
    }),
    async ({ params: { id } }) => {
      const { users, database } = services
      if (!isId(id) || !(await users.find(database.reader, id))) throw new Problem('not-found')
      return { data: (await listApps(services, id)).map(view) }
    },
  )
  routes.delete(
    '/auth/apps/:clientId',
    route('user', tags, 'Remove an app: revokes my consent and its tokens', {
      params: Type.Object({ clientId: Type.String() }),
      response: noContent,
    }),
    async (request, reply) => {
      const userId = userOf(request)
      const { clientId } = request.params
      if (!(await removeApp(services, userId, clientId, auditOrigin(request)))) throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

function view({ since, lastUsedAt, ...app }: Awaited<ReturnType<typeof listApps>>[number]) {
  return { ...app, since: isoTime(since), lastUsedAt: isoTimeOrNull(lastUsedAt) }
}

/** @throws Problem `forbidden` for an app that may see only its own sign-ins */
function userOf(request: Pick<FastifyRequest, 'principal'>): string {
  const { userId, onlyApp } = signedIn(request)
  if (onlyApp !== undefined)
    throw new Problem('forbidden', {
      detail: 'This call needs a browser session, or an app that manages sessions.',
    })
  return userId
}

/** Sign-ins of a user in apps that are read at most. */
const mostFamilies = 1_000

/**
 * The apps that a user allowed, or in which the user is signed in, the most recently used one first. Apps that are no longer registered
 * are left out, because their tokens are rejected. `since` is the first consent or the oldest live sign-in; without a live one, `lastUsedAt` is null.
 */
async function listApps({ clients, consents, tokenFamilies }: OAuth2Services, userId: string) {
  const [allowed, families] = await Promise.all([
    consents.list(userId),
    tokenFamilies.list(userId, mostFamilies),
  ])
  const uses = [
    ...allowed.map(({ client_id: id, scope, granted_at: since }) => ({ id, scope, since, usedAt: null })),
    ...families.map((row) => ({
      id: row.client_id,
      scope: row.scope,
      since: row.created_at,
      usedAt: row.last_seen_at,
    })),
  ]
  const byApp = Map.groupBy(uses, ({ id }) => id)
  const apps = await Promise.all(
    [...byApp].map(async ([id, rows]) => {
      const client = await clients.find(id)
      if (!client) return undefined
      const scopes = rows.flatMap(({ scope }) => scope?.split(' ') ?? []).filter((scope) => scope !== '')
      const used = rows.flatMap(({ usedAt }) => usedAt ?? [])
      return {
        id,
        name: client.name,
        firstParty: client.firstParty,
        scopes: [...new Set(scopes)].toSorted(),
        since: Math.min(...rows.map(({ since }) => since)),
        lastUsedAt: used.length === 0 ? null : Math.max(...used),
      }
    }),
  )
  return apps
    .filter((app) => app !== undefined)
    .toSorted((a, b) => (b.lastUsedAt ?? b.since) - (a.lastUsedAt ?? a.since))
}

/** Revokes the consent for an app and all of the user's sign-ins in it. False when there is neither. */
async function removeApp(
  { consents, tokenFamilies, database, audit }: OAuth2Services,
  userId: string,
  clientId: string,
  origin: AuditOrigin,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const hadConsent = await consents.revoke(tx, userId, clientId)
    const count = await tokenFamilies.revokeAll(tx, userId, { clientId })
    if (!hadConsent && count === 0) return false
    const detail = { consent: hadConsent, signIns: count }
    await audit.record(tx, { ...origin, action: 'app.removed', userId, target: `app:${clientId}`, detail })
    return true
  })
}
