import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { signedIn } from '../../accounts/routes.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { DateTime, IdParams, noContent, nullable } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { AllowedApp, AllowedApps } from './allowed-apps.ts'

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

type IsUser = (id: string) => Promise<boolean>

/** /auth/apps and /users/{id}/apps: the apps that a user allowed, or in which the user is signed in. */
export function allowedAppsRoutes(routes: App, apps: AllowedApps, isUser: IsUser): void {
  routes.get(
    '/auth/apps',
    {
      config: { access: 'user' },
      schema: { tags, summary: 'The apps that I allowed or am signed in to', response: { 200: AppList } },
    },
    async ({ principal }) => {
      return { data: (await apps.list(userOf({ principal }))).map(view) }
    },
  )
  routes.get(
    '/users/:id/apps',
    {
      config: { access: { scope: 'users:read' } },
      schema: {
        tags,
        summary: 'The apps that a user allowed or is signed in to',
        params: IdParams,
        response: { 200: AppList },
      },
    },
    async ({ params: { id } }) => {
      if (!isId(id) || !(await isUser(id))) throw new Problem('not-found')
      return { data: (await apps.list(id)).map(view) }
    },
  )
  routes.delete(
    '/auth/apps/:clientId',
    {
      config: { access: 'user' },
      schema: {
        tags,
        summary: 'Remove an app: revokes my consent and its tokens',
        params: Type.Object({ clientId: Type.String() }),
        response: noContent,
      },
    },
    async (request, reply) => {
      const userId = userOf(request)
      const { clientId } = request.params
      if (!(await apps.remove(userId, clientId, auditOrigin(request)))) throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

function view({ id, name, firstParty, scopes, since, lastUsedAt }: AllowedApp) {
  return {
    id,
    name,
    firstParty,
    scopes,
    since: isoTime(since),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
  }
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
