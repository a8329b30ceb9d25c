import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Database } from '../storage/database.ts'
import type { Administration } from './administration.ts'
import { auditOrigin, type Audit } from './audit.ts'
import { describeDevice, DeviceBody } from './device-body.ts'
import type { Devices } from './devices.ts'
import { neverStored } from './routes.ts'

export interface UserSessionRoutesParts {
  administration: Administration
  devices: Devices
  database: Database
  audit: Audit
}

const tags = ['sign-in']

/** GET and DELETE /users/{id}/sessions: where a user is signed in, for admins. */
export async function userSessionRoutes(app: App, parts: UserSessionRoutesParts): Promise<void> {
  const { administration, devices, database, audit } = parts

  /** The id of the user that the path names. @throws Problem `not-found` */
  const userOf = async ({ params }: { params: { id: string } }): Promise<string> => {
    const known = isId(params.id) && (await administration.find(database.reader, params.id))
    if (!known) throw new Problem('not-found')
    return params.id
  }
  const originOf = (request: FastifyRequest, userId: string) =>
    ({ action: 'session.revoked', userId, ...auditOrigin(request) }) as const

  await app.register(async (scope: App) => {
    neverStored(scope)

    scope.get(
      '/users/:id/sessions',
      {
        config: { access: { scope: 'users:read' } },
        schema: {
          tags,
          summary: "A user's sessions: browsers and apps that are signed in",
          params: Type.Object({ id: Type.String() }),
          response: { 200: Type.Object({ data: Type.Array(DeviceBody) }) },
        },
      },
      async (request, reply) => {
        const list = await devices.list(await userOf(request), request.principal?.sessionId)
        return reply.send({ data: list.map(describeDevice) })
      },
    )

    scope.delete(
      '/users/:id/sessions',
      {
        config: { access: { scope: 'users:write' } },
        schema: {
          tags,
          summary: 'End all sessions of a user, those of apps included; the user may sign in again',
          params: Type.Object({ id: Type.String() }),
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const userId = await userOf(request)
        const entry = originOf(request, userId)
        await devices.revokeOthers(userId, undefined, (tx, count) =>
          audit.record(tx, { ...entry, detail: { all: true, count } }),
        )
        return reply.code(204).send(null)
      },
    )

    scope.delete(
      '/users/:id/sessions/:sessionId',
      {
        config: { access: { scope: 'users:write' } },
        schema: {
          tags,
          summary: 'End one session of a user',
          params: Type.Object({ id: Type.String(), sessionId: Type.String() }),
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { id, sessionId } = request.params
        const entry = { ...originOf(request, id), target: `session:${sessionId}` }
        const ended =
          isId(id) &&
          isId(sessionId) &&
          (await devices.revoke(id, sessionId, (tx) => audit.record(tx, entry)))
        if (!ended) throw new Problem('not-found')
        return reply.code(204).send(null)
      },
    )
  })
}
