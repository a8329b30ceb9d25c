import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Tx } from '../storage/database.ts'
import { auditOrigin, type Audit } from './audit.ts'
import { describeDevice, DeviceBody } from './device-body.ts'
import type { Devices } from './devices.ts'
import type { HostCookie } from './host-cookie.ts'
import { neverStored, signedIn } from './routes.ts'

const tags = ['sign-in']
/** GET and DELETE /auth/sessions: where I am signed in. */
export async function deviceRoutes(
  app: App,
  { devices, cookie, audit }: { devices: Devices; cookie: HostCookie; audit: Audit },
): Promise<void> {
  await app.register(async (scope: App) => {
    neverStored(scope)

    scope.get(
      '/auth/sessions',
      {
        config: { access: 'user' },
        schema: {
          tags,
          summary:
            'My devices: browsers and apps that are signed in; with the token of an app those of the app alone',
          response: { 200: Type.Object({ data: Type.Array(DeviceBody) }) },
        },
      },
      async ({ principal }) => {
        const { userId, sessionId, onlyApp } = signedIn({ principal })
        return { data: (await devices.list(userId, sessionId, onlyApp)).map(describeDevice) }
      },
    )

    scope.delete(
      '/auth/sessions',
      {
        config: { access: 'user' },
        schema: {
          tags,
          summary:
            'Sign out everywhere else: ends all of my sessions but this one; with the token of an app those of the app alone',
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { userId, sessionId, onlyApp } = signedIn(request)
        const entry = {
          action: 'session.revoked',
          userId,
          ...(onlyApp !== undefined && { target: `app:${onlyApp}` }),
          ...auditOrigin(request),
        } as const
        await devices.revokeOthers(
          userId,
          sessionId,
          (tx, count) => audit.record(tx, { ...entry, detail: { allOthers: true, count } }),
          onlyApp,
        )
        return reply.code(204).send(null)
      },
    )

    scope.delete(
      '/auth/sessions/:id',
      {
        config: { access: 'user', sends: { sometimes: ['Set-Cookie'] } },
        schema: {
          tags,
          summary: 'End one of my sessions; with the token of an app only one of the app',
          params: Type.Object({ id: Type.String() }),
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { userId, sessionId, onlyApp } = signedIn(request)
        const { id } = request.params
        const entry = { action: 'session.revoked', userId, target: `session:${id}` } as const
        const record = (tx: Tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })
        const ended = isId(id) && (await devices.revoke(userId, id, record, onlyApp))
        if (!ended) throw new Problem('not-found')
        if (id === sessionId) cookie.clear(reply)
        return reply.code(204).send(null)
      },
    )
  })
}
