import type { AccountServices } from '../services.ts'
import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { DateTime, IdParams, noContent, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Tx } from '../../storage/database.ts'
import { auditOrigin } from '../audit/audit.ts'
import type { Device } from './devices.ts'
import { signedIn } from '../routes.ts'
import { accountOf } from '../users/user-routes.ts'
import type { AppRights } from './authentication.ts'

type FindApp = (id: string) => Promise<Pick<AppRights, 'name'> | undefined>

const tags = ['sign-in']

const DeviceList = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String({ description: 'The id of the session; it is not the token.' }),
      kind: Type.Enum(['browser', 'app'], { description: 'A session of a browser, or the tokens of an app' }),
      current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
      device: Type.String({ description: 'The browser and system, such as `Firefox on Linux`' }),
      app: nullable(Type.String(), 'The client id of the app'),
      appName: nullable(Type.String(), 'The name of the app; its client id if it is not registered any more'),
      provider: Type.String({ description: 'The identity provider of the sign-in' }),
      address: nullable(Type.String(), 'The address of the client at the sign-in'),
      userAgent: nullable(Type.String(), 'The user agent at the sign-in'),
      createdAt: DateTime,
      lastSeenAt: DateTime,
      expiresAt: DateTime,
      impersonation: nullable(
        Type.Object({ by: nullable(Type.String()), reason: Type.String() }),
        'The name of the administrator who acts for the user there, and why; null for a sign-in of the user',
      ),
    }),
  ),
})

/** /auth/sessions: the caller's own devices. */
export function ownDeviceRoutes(scope: App, services: AccountServices): void {
  const { devices, sessionCookie, audit, findApp } = services
  scope.get(
    '/auth/sessions',
    route('user', tags, 'My sessions in browsers and apps; an app sees only its own', {
      response: { 200: DeviceList },
    }),
    async ({ principal }) => {
      const { userId, sessionId, onlyApp } = signedIn({ principal })
      return describe(await devices.list(userId, sessionId, onlyApp), findApp)
    },
  )
  scope.delete(
    '/auth/sessions',
    route('user', tags, 'Sign out everywhere else: revokes my other sessions; an app revokes only its own', {
      response: noContent,
    }),
    async (request, reply) => {
      const { userId, sessionId, onlyApp } = signedIn(request)
      const target = onlyApp === undefined ? undefined : `app:${onlyApp}`
      const entry = { action: 'session.revoked', userId, target, ...auditOrigin(request) } as const
      const record = (tx: Tx, count: number) =>
        audit.record(tx, { ...entry, detail: { allOthers: true, count } })
      await devices.revokeOthers(userId, sessionId, record, onlyApp)
      return reply.code(204).send(null)
    },
  )
  scope.delete(
    '/auth/sessions/:id',
    route(
      'user',
      tags,
      'Revoke one of my sessions; an app can revoke only its own',
      { params: IdParams, response: noContent },
      { sends: { sometimes: ['Set-Cookie'] } },
    ),
    async (request, reply) => {
      const { userId, kind, sessionId, onlyApp } = signedIn(request)
      const { id } = request.params
      const entry = { action: 'session.revoked', userId, target: `session:${id}` } as const
      const record = (tx: Tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })
      if (!isId(id) || !(await devices.revoke(userId, id, record, onlyApp))) throw new Problem('not-found')
      if (kind === 'session' && id === sessionId) sessionCookie.clear(reply)
      return reply.code(204).send(null)
    },
  )
}

/** /users/{id}/sessions: a user's devices, for admins. */
export function userDeviceRoutes(scope: App, services: AccountServices): void {
  const { devices, audit } = services
  scope.get(
    '/users/:id/sessions',
    route({ scope: 'users:read' }, tags, "A user's sessions in browsers and apps", {
      params: IdParams,
      response: { 200: DeviceList },
    }),
    async ({ params: { id }, principal }) => {
      await accountOf(services, id)
      return describe(await devices.list(id, principal?.sessionId), services.findApp)
    },
  )
  scope.delete(
    '/users/:id/sessions',
    route(
      { scope: 'users:write' },
      tags,
      'Revoke all sessions of a user, in browsers and apps; the user may sign in again',
      { params: IdParams, response: noContent },
    ),
    async (request, reply) => {
      const userId = request.params.id
      await accountOf(services, userId)
      const entry = { action: 'session.revoked', userId, ...auditOrigin(request) } as const
      await devices.revokeOthers(userId, undefined, (tx, count) =>
        audit.record(tx, { ...entry, detail: { all: true, count } }),
      )
      return reply.code(204).send(null)
    },
  )
  scope.delete(
    '/users/:id/sessions/:sessionId',
    route({ scope: 'users:write' }, tags, 'Revoke one session of a user', {
      params: Type.Object({ id: Type.String(), sessionId: Type.String() }),
      response: noContent,
    }),
    async (request, reply) => {
      const { id: userId, sessionId } = request.params
      const entry = { action: 'session.revoked', userId, target: `session:${sessionId}` } as const
      const record = (tx: Tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })
      if (!isId(userId) || !isId(sessionId) || !(await devices.revoke(userId, sessionId, record)))
        throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

async function describe(devices: readonly Device[], findApp: FindApp) {
  const names = new Map<string, string>()
  for (const id of new Set(devices.flatMap(({ app }) => app ?? [])))
    names.set(id, (await findApp(id))?.name ?? id)
  const data = devices.map(({ createdAt, lastSeenAt, expiresAt, ...device }) => ({
    ...device,
    appName: device.app === null ? null : (names.get(device.app) ?? null),
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoTime(expiresAt),
  }))
  return { data }
}
