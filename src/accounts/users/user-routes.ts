import type { AccountServices } from '../services.ts'
import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { auditOrigin } from '../audit/audit.ts'
import {
  closedObject,
  DateTime,
  IdParams,
  noContent,
  nullable,
  NullableText,
  optionalText,
} from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { readPageRequest, pageSchema } from '../../paging/parameters.ts'
import { auditPage, parseAuditFilter } from '../audit/audit-log.ts'
import { auditPaging, Entry } from '../audit/audit-routes.ts'
import { viewNamedEntries } from '../audit/audit-reader.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { identitiesOf } from './identities.ts'
import type { IdentityChange } from './role-changes.ts'
import { OwnGroups } from './invitation-routes.ts'
import { sessionOf, signedIn } from '../routes.ts'

const Body = closedObject(
  {
    blocked: Type.Optional(
      Type.Boolean({ description: 'true: all sessions and tokens are revoked at once' }),
    ),
    role: Type.Optional(Type.Enum(['user', 'admin'])),
    groups: Type.Optional(OwnGroups),
  },
  { minProperties: 1 },
)
const tags = ['sign-in']
const read = { scope: 'users:read' } as const
const write = { scope: 'users:write' } as const

const count = (description: string) => Type.Integer({ minimum: 0, maximum: 100, description })

const User = Type.Object({
  id: Type.String(),
  email: NullableText,
  emailVerified: Type.Boolean({
    description: 'Whether a provider asserts that the address belongs to the user',
  }),
  name: NullableText,
  picture: NullableText,
  groups: Type.Array(Type.String(), { description: '`ownGroups` and those of all identities, at most 200' }),
  ownGroups: Type.Array(Type.String(), { description: 'Given by an invitation or an admin' }),
  provider: Type.String(),
  providerId: Type.String(),
  role: Type.Enum(['user', 'admin']),
  adminBy: nullable(
    Type.Enum(['role', 'ADMIN_IDENTITIES', 'groups']),
    'The source of the admin role; requests can change only `role`. Null for a user.',
  ),
  mayBeImpersonated: Type.Boolean({
    description: 'Whether the caller may act for the user, after a recent sign-in (`IMPERSONATION`)',
  }),
  blockedAt: nullable(DateTime),
  createdAt: DateTime,
  lastSeenAt: nullable(DateTime, 'Accurate to the minute. Null for an imported user who has never signed in'),
  counts: Type.Object({
    identities: count('At most 100 are counted'),
    browsers: count('Sessions of browsers; at most 100 devices are counted'),
    apps: count('Sign-ins in apps; at most 100 devices are counted'),
  }),
})

const Account = Type.Pick(User, [
  'id',
  'email',
  'name',
  'provider',
  'providerId',
  'role',
  'blockedAt',
  'createdAt',
])

/** /users/{id}: a user, for admins. The oauth2 module has /users/{id}/apps. */
export function userRoutes(scope: App, services: AccountServices): void {
  changeRoute(scope, services)
  deleteRoute(scope, services)
  detailRoute(scope, services)
  identitiesRoute(scope, services)
  auditRoute(scope, services)
}

function changeRoute(scope: App, { administration, recentSignIn }: AccountServices): void {
  scope.patch(
    '/users/:id',
    route(
      write,
      tags,
      'Block or unblock an account, or change its role or groups; revokes its sessions and tokens',
      {
        description:
          'A key needs the scope `admin` to make an account an administrator, to add groups, and to unblock an administrator; an administrator needs a recent sign-in (`RECENT_SIGN_IN`) to give the role `admin` or groups. `groups` replaces the groups that an invitation or an earlier request gave.',
        params: IdParams,
        body: Body,
        response: { 200: Account },
      },
    ),
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id)) throw new Problem('not-found')
      if (request.principal?.userId === id)
        throw new Problem('conflict', { detail: 'You cannot block your own account or change its role.' })
      const { role, groups = [] } = request.body
      // These rights outlive the session that gives them, so a stolen cookie must not be enough.
      if ((role === 'admin' || groups.length > 0) && request.principal?.kind !== 'key')
        await recentSignIn.require(request, 'user.change_failed')
      const account = await administration.change(id, request.body, {
        origin: auditOrigin(request),
        requireAdmin: () => requireScope(request, 'admin'),
      })
      if (!account) throw new Problem('not-found')
      return reply.send(viewAccount(account))
    },
  )
}

function deleteRoute(scope: App, { administration }: AccountServices): void {
  scope.delete(
    '/users/:id',
    route(write, tags, 'Delete an account with its identities, sessions, consents and tokens', {
      description:
        'Entries of the audit log stay until their retention. Events that name the person stay until theirs. The next sign-in with the same identity makes a new account.',
      params: IdParams,
      response: noContent,
    }),
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id)) throw new Problem('not-found')
      if (request.principal?.userId === id)
        throw new Problem('conflict', { detail: 'You cannot delete your own account.' })
      if (!(await administration.delete(id, auditOrigin(request)))) throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

function detailRoute(scope: App, services: AccountServices): void {
  const { users, devices, database } = services
  scope.get(
    '/users/:id',
    route(read, tags, 'One user, with counts', { params: IdParams, response: { 200: User } }),
    async ({ params: { id }, principal }) => {
      const account = await accountOf(services, id)
      const [profile, identities, list, by] = await Promise.all([
        users.profile(database.reader, id),
        identitiesOf(database.reader, id),
        devices.list(id, undefined),
        users.adminReason(database.reader, id),
      ])
      if (!profile) throw new Problem('not-found')
      return {
        ...viewAccount(account),
        emailVerified: profile.emailVerified,
        picture: profile.picture,
        groups: profile.groups,
        ownGroups: profile.ownGroups,
        adminBy: account.role === 'user' ? null : (by ?? ('role' as const)),
        mayBeImpersonated:
          principal?.kind === 'session' &&
          services.configuration.impersonation === 'on' &&
          account.role === 'user' &&
          account.blockedAt === null,
        counts: {
          identities: identities.length,
          browsers: list.filter(({ kind }) => kind === 'browser').length,
          apps: list.filter(({ kind }) => kind === 'app').length,
        },
      }
    },
  )
}

function identitiesRoute(scope: App, services: AccountServices): void {
  const { database } = services
  scope.get(
    '/users/:id/identities',
    route(read, tags, "A user's identities, oldest first; a hundred at most", {
      params: IdParams,
      response: { 200: Type.Object({ data: Type.Array(Identity) }) },
    }),
    async ({ params: { id } }) => {
      await accountOf(services, id)
      return viewIdentities(database, id)
    },
  )
}

function auditRoute(scope: App, services: AccountServices): void {
  scope.get(
    '/users/:id/audit',
    route(read, tags, "A user's audit log, newest first", {
      params: IdParams,
      querystring: Type.Object(auditPaging),
      response: { 200: pageSchema(Entry) },
    }),
    async ({ params: { id }, query: { limit, cursor, ...texts } }) => {
      await accountOf(services, id)
      const filter = { ...parseAuditFilter(texts), userId: id }
      const page = await auditPage(services, filter, readPageRequest({ limit, cursor }))
      return viewNamedEntries(services.database, page)
    },
  )
}

function viewAccount({ blockedAt, createdAt, lastSeenAt, ...rest }: Awaited<ReturnType<typeof accountOf>>) {
  return {
    ...rest,
    blockedAt: isoTimeOrNull(blockedAt),
    createdAt: isoTime(createdAt),
    lastSeenAt: lastSeenAt === 0 ? null : isoTime(lastSeenAt),
  }
}

/** The account of an id. @throws Problem `not-found` */
export async function accountOf({ administration, database }: AccountServices, id: string) {
  const account = isId(id) ? await administration.find(database.reader, id) : undefined
  if (!account) throw new Problem('not-found')
  return account
}

/** An identity of a user. */
const Identity = Type.Object({
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

/** GET and DELETE /auth/identities. The login module links identities, since linking is a sign-in at the provider. */
export function identityRoutes(scope: App, services: AccountServices): void {
  listRoute(scope, services)
  unlinkRoute(scope, services)
}

function listRoute(scope: App, { database }: AccountServices): void {
  scope.get(
    '/auth/identities',
    route('user', tags, 'My identities', { response: { 200: Type.Object({ data: Type.Array(Identity) }) } }),
    async ({ principal }) => viewIdentities(database, signedIn({ principal }).userId),
  )
}

/** The answer with a user's identities. */
async function viewIdentities({ reader }: Database, userId: string) {
  const data = (await identitiesOf(reader, userId)).map(({ createdAt, lastUsedAt, ...identity }) =>
    Object.assign(identity, { createdAt: isoTime(createdAt), lastUsedAt: isoTime(lastUsedAt) }),
  )
  return { data }
}

function unlinkRoute(scope: App, services: AccountServices): void {
  scope.delete(
    '/auth/identities/:provider',
    route(
      'session',
      tags,
      'Unlink my identities at a provider, except the last one; only shortly after a sign-in',
      {
        params: Type.Object({ provider: Type.String() }),
        querystring: Type.Object({
          providerId: optionalText('Only the identity with this id'),
        }),
        response: noContent,
      },
      { sends: { sometimes: ['Set-Cookie'] } },
    ),
    async (request, reply) => {
      const { database, roleChanges, recentSignIn, sessionCookie } = services
      const { userId, sessionId } = sessionOf(request)
      const { provider } = request.params
      const { providerId } = request.query
      await recentSignIn.require(request, 'identity.unlink_failed', provider)
      const change = { userId, sessionId, origin: auditOrigin(request) }
      const { result: emitted, renewed } = await database.transaction((tx) =>
        roleChanges.apply(tx, change, () => unlink(services, tx, change, { provider, providerId })),
      )
      if (emitted) {
        database.signal('deliveries')
        database.signal('scheduled')
      }
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
