import type { AccountServices } from '../services.ts'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import type { Tx } from '../../storage/database.ts'
import { auditOrigin } from '../audit/audit.ts'
import type { StoredIdentity } from './identities.ts'
import type { IdentityChange } from './role-changes.ts'
import { sessionOf, signedIn } from '../routes.ts'
import { DateTime, noContent, NullableText, optionalText } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

const tags = ['sign-in']

/** An identity of a user. */
export const Identity = Type.Object({
  provider: Type.String(),
  providerId: Type.String(),
  email: NullableText,
  emailVerified: Type.Boolean(),
  name: NullableText,
  picture: NullableText,
  groups: Type.Array(Type.String(), {
    description: 'The groups that the provider named at the last sign-in',
  }),
  createdAt: DateTime,
  lastUsedAt: DateTime,
})

/** GET and DELETE /auth/identities. The login room links identities, since linking is a sign-in at the provider. */
export function identityRoutes(scope: App, services: AccountServices): void {
  listRoute(scope, services)
  unlinkRoute(scope, services)
}

function listRoute(scope: App, { database, users }: AccountServices): void {
  scope.get(
    '/auth/identities',
    {
      config: { access: 'user' },
      schema: {
        tags,
        summary: 'My identities',
        response: { 200: Type.Object({ data: Type.Array(Identity) }) },
      },
    },
    async ({ principal }) => {
      const identities = await users.identities(database.reader, signedIn({ principal }).userId)
      return { data: identities.map(viewIdentity) }
    },
  )
}

/** An identity in the form of its schema, which leaves out its other fields. */
export function viewIdentity({ createdAt, lastUsedAt, groups, ...identity }: StoredIdentity) {
  return { ...identity, groups: [...groups], createdAt: isoTime(createdAt), lastUsedAt: isoTime(lastUsedAt) }
}

function unlinkRoute(scope: App, services: AccountServices): void {
  scope.delete(
    '/auth/identities/:provider',
    {
      config: { access: 'session', sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags,
        summary: 'Unlink my identities at a provider, except the last one; only shortly after a sign-in',
        params: Type.Object({ provider: Type.String() }),
        querystring: Type.Object({
          providerId: optionalText('Only the identity with this id'),
        }),
        response: noContent,
      },
    },
    async (request, reply) => {
      const { database, roleChanges, recentSignIn, sessionCookie } = services
      const { userId, sessionId } = sessionOf(request)
      const { provider } = request.params
      const { providerId } = request.query
      const problem = await recentSignIn.check(request, 'identity.unlink_failed', provider)
      if (problem) throw problem
      const change = { userId, sessionId, origin: auditOrigin(request) }
      const { result: emitted, renewed } = await database.transaction((tx) =>
        roleChanges.apply(tx, change, () => unlink(services, tx, change, { provider, providerId })),
      )
      if (emitted) database.signal('deliveries')
      if (renewed) sessionCookie.set(reply, renewed.token, renewed.maxAge)
      return reply.code(204).send(null)
    },
  )
}

/** Unlinks, audits and emits events. Returns whether events were emitted. @throws Problem `not-found`, `last-identity` */
async function unlink(
  { users, devices, audit, events }: AccountServices,
  tx: Tx,
  { userId, sessionId, origin }: IdentityChange,
  { provider, providerId }: { provider: string; providerId: string | undefined },
): Promise<boolean> {
  const result = await users.unlink(tx, userId, provider, providerId)
  if (result === 'unknown') throw new Problem('not-found')
  if (result === 'last') throw new Problem('last-identity')
  // An attacker who took over the account at the provider may have signed in with it, so those sessions end.
  await devices.revokeAll(tx, userId, sessionId, provider)
  const user = await users.find(tx, userId)
  let emitted = false
  for (const key of result.unlinked) {
    await audit.record(tx, { ...origin, action: 'identity.unlinked', userId, ...key })
    if (user) emitted = (await events.emit(tx, 'identity.unlinked', user, key)) || emitted
  }
  return emitted
}
