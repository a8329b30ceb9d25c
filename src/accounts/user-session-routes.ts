import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Administration } from './administration.ts'
import { auditOrigin, type Audit } from './audit.ts'
import { describeDevice, DeviceList } from './device-body.ts'
import type { Devices } from './devices.ts'
import { neverStored } from './routes.ts'

export interface UserSessionRoutesParts {
  administration: Administration
  devices: Devices
  database: Database
  audit: Audit
}

const tags = ['sign-in']
const UserParams = Type.Object({ id: Type.String() })

/** GET and DELETE /users/{id}/sessions: a user's devices, for admins. */
export async function userSessionRoutes(app: App, parts: UserSessionRoutesParts): Promise<void> {
  await app.register(async (scope: App) => {
    neverStored(scope)
    listRoute(scope, parts)
    revokeAllRoute(scope, parts)
    revokeRoute(scope, parts)
  })
}

function listRoute(scope: App, parts: UserSessionRoutesParts): void {
  scope.get(
    '/users/:id/sessions',
    {
      config: { access: { scope: 'users:read' } },
      schema: {
        tags,
        summary: "A user's sessions in browsers and apps",
        params: UserParams,
        response: { 200: DeviceList },
      },
    },
    async ({ params, principal }, reply) => {
      await requireUser(parts, params.id)
      const list = await parts.devices.list(params.id, principal?.sessionId)
      return reply.send({ data: list.map(describeDevice) })
    },
  )
}

function revokeAllRoute(scope: App, parts: UserSessionRoutesParts): void {
  scope.delete(
    '/users/:id/sessions',
    {
      config: { access: { scope: 'users:write' } },
      schema: {
        tags,
        summary: 'Revoke all sessions of a user, in browsers and apps; the user may sign in again',
        params: UserParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const userId = request.params.id
      await requireUser(parts, userId)
      const entry = { action: 'session.revoked', userId, ...auditOrigin(request) } as const
      await parts.devices.revokeOthers(userId, undefined, (tx, count) =>
        parts.audit.record(tx, { ...entry, detail: { all: true, count } }),
      )
      return reply.code(204).send(null)
    },
  )
}

function revokeRoute(scope: App, { devices, audit }: UserSessionRoutesParts): void {
  scope.delete(
    '/users/:id/sessions/:sessionId',
    {
      config: { access: { scope: 'users:write' } },
      schema: {
        tags,
        summary: 'Revoke one session of a user',
        params: Type.Object({ id: Type.String(), sessionId: Type.String() }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id: userId, sessionId } = request.params
      const entry = { action: 'session.revoked', userId, target: `session:${sessionId}` } as const
      const record = (tx: Tx) => audit.record(tx, { ...entry, ...auditOrigin(request) })
      const revoked = isId(userId) && isId(sessionId) && (await devices.revoke(userId, sessionId, record))
      if (!revoked) throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

/** @throws Problem `not-found` */
async function requireUser({ administration, database }: UserSessionRoutesParts, id: string): Promise<void> {
  if (!isId(id) || !(await administration.find(database.reader, id))) throw new Problem('not-found')
}
