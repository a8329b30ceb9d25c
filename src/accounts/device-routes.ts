import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { auditOrigin, type Audit } from './audit.ts'
import type { Devices } from './devices.ts'
import type { HostCookie } from './host-cookie.ts'
import { neverStored, signedIn } from './routes.ts'

const tags = ['sign-in']
const Nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const Time = Type.String({ format: 'date-time' })
const Device = Type.Object({
  id: Type.String({ description: 'Names the session; it is not the token.' }),
  kind: Type.Enum(['browser', 'app'], { description: 'A session of a browser, or the tokens of an app' }),
  current: Type.Boolean({ description: 'Whether this call was made with it.' }),
  device: Type.String({ description: 'In words, such as `Firefox on Linux`' }),
  app: Nullable('The client id of the app'),
  provider: Type.String({ description: 'The identity provider of the sign-in' }),
  address: Nullable('Where the sign-in came from'),
  userAgent: Nullable('What the browser called itself at the sign-in'),
  createdAt: Time,
  lastSeenAt: Time,
  expiresAt: Time,
})

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
          summary: 'My devices: browsers and apps that are signed in',
          response: { 200: Type.Object({ data: Type.Array(Device) }) },
        },
      },
      async ({ principal }) => {
        const { userId, sessionId } = signedIn({ principal })
        const list = await devices.list(userId, sessionId)
        const data = list.map(({ createdAt, lastSeenAt, expiresAt, ...device }) =>
          Object.assign(device, {
            createdAt: iso(createdAt),
            lastSeenAt: iso(lastSeenAt),
            expiresAt: iso(expiresAt),
          }),
        )
        return { data }
      },
    )

    scope.delete(
      '/auth/sessions',
      {
        config: { access: 'user' },
        schema: {
          tags,
          summary: 'Sign out everywhere else: ends all of my sessions but this one',
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { userId, sessionId } = signedIn(request)
        const origin = auditOrigin(request)
        await devices.revokeOthers(userId, sessionId, (tx, count) =>
          audit.record(tx, {
            action: 'session.revoked',
            userId,
            detail: { allOthers: true, count },
            ...origin,
          }),
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
          summary: 'End one of my sessions',
          params: Type.Object({ id: Type.String() }),
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { userId, sessionId } = signedIn(request)
        const { id } = request.params
        const entry = { action: 'session.revoked', userId, target: `session:${id}` } as const
        const ended =
          isId(id) &&
          (await devices.revoke(userId, id, (tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })))
        if (!ended) throw new Problem('not-found')
        if (id === sessionId) cookie.clear(reply)
        return reply.code(204).send(null)
      },
    )
  })
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
