import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Database } from '../storage/database.ts'
import type { AccountEvents } from './account-events.ts'
import { auditOrigin, type Audit } from './audit.ts'
import type { Devices } from './devices.ts'
import type { HostCookie } from './host-cookie.ts'
import type { RecentSignIn } from './recent-sign-in.ts'
import type { RoleChanges } from './role-changes.ts'
import { neverStored, signedIn } from './routes.ts'
import type { Users } from './users.ts'

export interface IdentityRoutesParts {
  database: Database
  users: Users
  devices: Devices
  roleChanges: RoleChanges
  recentSignIn: RecentSignIn
  cookie: HostCookie
  audit: Audit
  events: AccountEvents
}

const tags = ['sign-in']
const Nullable = Type.Union([Type.String(), Type.Null()])
const Time = Type.String({ format: 'date-time' })
const iso = (time: number): string => new Date(time).toISOString()

const Identity = Type.Object({
  provider: Type.String(),
  providerId: Type.String(),
  email: Nullable,
  emailVerified: Type.Boolean(),
  name: Nullable,
  createdAt: Time,
  lastUsedAt: Time,
})

/** The calls about one's own identities. Linking one is a sign-in at its provider: the login room has it. */
export async function identityRoutes(app: App, parts: IdentityRoutesParts): Promise<void> {
  const { database, users, devices, roleChanges, recentSignIn, cookie, audit, events } = parts

  await app.register(async (scope: App) => {
    neverStored(scope)

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
        const data = identities.map(({ createdAt, lastUsedAt, ...identity }) =>
          Object.assign(identity, { createdAt: iso(createdAt), lastUsedAt: iso(lastUsedAt) }),
        )
        return { data }
      },
    )

    scope.delete(
      '/auth/identities/:provider',
      {
        config: { access: 'session', sends: { sometimes: ['Set-Cookie'] } },
        schema: {
          tags,
          summary: 'Unlink my identities at a provider; never the last, and only shortly after a sign-in',
          params: Type.Object({ provider: Type.String() }),
          querystring: Type.Object({
            providerId: Type.Optional(Type.String({ description: 'Only this one, when there are several' })),
          }),
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { userId, sessionId } = signedIn(request)
        if (sessionId === undefined) throw new Problem('not-signed-in')
        const { provider } = request.params
        const problem = await recentSignIn.check(request, 'identity.unlink_failed', provider)
        if (problem) throw problem
        const origin = auditOrigin(request)
        const { result: emitted, renewed } = await database.transaction((tx) =>
          roleChanges.watch(tx, { userId, sessionId, origin }, async () => {
            const result = await users.unlink(tx, userId, provider, request.query.providerId)
            if (result === 'unknown') throw new Problem('not-found')
            if (result === 'last') throw new Problem('last-identity')
            // Whoever came in by it, with the provider's account in their hands, is out with it.
            await devices.revokeAll(tx, userId, sessionId, provider)
            const user = await users.find(tx, userId)
            let emitted = false
            for (const key of result.unlinked) {
              await audit.record(tx, { ...origin, action: 'identity.unlinked', userId, ...key })
              if (user) emitted = (await events.emit(tx, 'identity.unlinked', user, key)) || emitted
            }
            return emitted
          }),
        )
        if (emitted) database.signal('deliveries')
        if (renewed) cookie.set(reply, renewed.token, renewed.maxAge)
        return reply.code(204).send(null)
      },
    )
  })
}
