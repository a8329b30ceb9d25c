import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { DateTime, IdParams, noContent, nullable, NullableText } from '../../http/schemas/schemas.ts'
import {
  type PageRequest,
  pageSchema,
  viewPage,
  pageParameters,
  readPageRequest,
} from '../../paging/parameters.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { deviceName } from '../../accounts/sessions/devices.ts'
import { idScope } from '../../paging/cursor.ts'
import type { OAuth2Services } from '../services.ts'

const tags = ['apps']

const SignIn = Type.Object({
  id: Type.String({ description: 'The `sid` of its tokens' }),
  userId: Type.String(),
  email: NullableText,
  name: NullableText,
  provider: Type.String({ description: 'The identity provider of the sign-in' }),
  device: Type.String({ description: 'The browser and system of the sign-in, such as `Firefox on Linux`' }),
  address: nullable(Type.String(), 'The address of the client at the sign-in'),
  scopes: Type.Array(Type.String()),
  createdAt: DateTime,
  lastSeenAt: DateTime,
  expiresAt: DateTime,
})

/** /clients/{id}/sign-ins: who is signed in to an app, for admins. */
export function clientSignInRoutes(routes: App, services: OAuth2Services): void {
  routes.get(
    '/clients/:id/sign-ins',
    route({ scope: 'clients:read' }, tags, "An app's active sign-ins, newest first", {
      params: IdParams,
      querystring: Type.Object(pageParameters()),
      response: { 200: pageSchema(SignIn) },
    }),
    async ({ params: { id }, query }) =>
      viewPage(await signInsOf(services, id, readPageRequest(query)), view),
  )
  routes.delete(
    '/clients/:id/sign-ins/:signInId',
    route({ scope: 'clients:write' }, tags, "End one of an app's sign-ins with its tokens", {
      params: Type.Object({ id: Type.String(), signInId: Type.String() }),
      response: noContent,
    }),
    async (request, reply) => {
      const { id, signInId } = request.params
      if (!isId(signInId) || !(await revokeSignIn(services, id, signInId, auditOrigin(request))))
        throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

type ClientSignIn = Awaited<ReturnType<typeof signInsOf>>['rows'][number]

function view({ scope, userAgent, createdAt, lastSeenAt, expiresAt, ...signIn }: ClientSignIn) {
  return {
    ...signIn,
    device: deviceName(userAgent),
    scopes: scope?.split(' ').filter((one) => one !== '') ?? [],
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoTime(expiresAt),
  }
}

/** The live sign-ins of an app, to each of which refresh tokens belong, newest first. @throws Problem `not-found` for an unknown app, `invalid-cursor` */
async function signInsOf(
  { database, clock, cursors, management, configuration }: OAuth2Services,
  clientId: string,
  request: PageRequest,
) {
  await management.get(clientId)
  const now = clock.now()
  const query = database.slowReader
    .selectFrom('token_families as family')
    .innerJoin('users', 'users.id', 'family.user_id')
    .select(['family.id', 'family.user_id as userId', 'family.provider', 'family.address', 'family.scope'])
    .select([
      'family.user_agent as userAgent',
      'family.created_at as createdAt',
      'family.last_seen_at as lastSeenAt',
    ])
    .select(['family.expires_at as expiresAt', 'users.email', 'users.name'])
    .where('family.client_id', '=', clientId)
    .where('family.revoked_at', 'is', null)
    .where('family.expires_at', '>', now)
    .where('family.last_seen_at', '>', now - configuration.sessionIdle)
  const scope = idScope('client sign-ins', [clientId])
  return cursors.newest(scope, request, query, 'family.id')
}

/** Revokes one sign-in with its tokens. False when the app has no such sign-in. */
async function revokeSignIn(
  { database, tokenFamilies, audit }: OAuth2Services,
  clientId: string,
  id: string,
  origin: AuditOrigin,
): Promise<boolean> {
  const userId = await tokenFamilies.ownerOf(database.reader, id)
  if (userId === undefined) return false
  const detail = { signIn: id }
  const target = `app:${clientId}`
  return tokenFamilies.revoke(
    userId,
    id,
    (tx) => audit.record(tx, { ...origin, action: 'tokens.revoked', userId, target, detail }),
    { clientId },
  )
}
