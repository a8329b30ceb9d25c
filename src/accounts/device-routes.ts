import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Tx } from '../storage/database.ts'
import { auditOrigin, type Audit } from './audit.ts'
import { describeDevice, DeviceList } from './device-body.ts'
import type { Devices } from './devices.ts'
import type { HostCookie } from './host-cookie.ts'
import { neverStored, signedIn } from './routes.ts'

const tags = ['sign-in']

export interface DeviceRoutesParts {
  devices: Devices
  sessionCookie: HostCookie
  audit: Audit
}

/** GET and DELETE /auth/sessions: the devices of the caller. */
export async function deviceRoutes(app: App, parts: DeviceRoutesParts): Promise<void> {
  await app.register(async (scope: App) => {
    neverStored(scope)
    listRoute(scope, parts)
    revokeOthersRoute(scope, parts)
    revokeRoute(scope, parts)
  })
}

function listRoute(scope: App, { devices }: DeviceRoutesParts): void {
  scope.get(
    '/auth/sessions',
    {
      config: { access: 'user' },
      schema: {
        tags,
        summary: 'My sessions in browsers and apps; an app sees only its own',
        response: { 200: DeviceList },
      },
    },
    async ({ principal }) => {
      const { userId, sessionId, onlyApp } = signedIn({ principal })
      return { data: (await devices.list(userId, sessionId, onlyApp)).map(describeDevice) }
    },
  )
}

function revokeOthersRoute(scope: App, { devices, audit }: DeviceRoutesParts): void {
  scope.delete(
    '/auth/sessions',
    {
      config: { access: 'user' },
      schema: {
        tags,
        summary: 'Sign out everywhere else: revokes my other sessions; an app revokes only its own',
        response: { 204: Type.Null() },
      },
    },
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
}

function revokeRoute(scope: App, { devices, sessionCookie, audit }: DeviceRoutesParts): void {
  scope.delete(
    '/auth/sessions/:id',
    {
      config: { access: 'user', sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags,
        summary: 'Revoke one of my sessions; an app can revoke only its own',
        params: Type.Object({ id: Type.String() }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { userId, sessionId, onlyApp } = signedIn(request)
      const { id } = request.params
      const entry = { action: 'session.revoked', userId, target: `session:${id}` } as const
      const record = (tx: Tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })
      const revoked = isId(id) && (await devices.revoke(userId, id, record, onlyApp))
      if (!revoked) throw new Problem('not-found')
      if (id === sessionId) sessionCookie.clear(reply)
      return reply.code(204).send(null)
    },
  )
}
