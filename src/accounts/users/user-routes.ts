import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import type { App } from '../../http/app.ts'
import type { Administration } from './administration.ts'
import { auditOrigin } from '../audit/audit.ts'
import {
  closedObject,
  DateTime,
  IdParams,
  noContent,
  nullable,
  NullableText,
} from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'

const Body = closedObject(
  {
    blocked: Type.Optional(
      Type.Boolean({ description: 'true: all sessions and tokens are revoked at once' }),
    ),
    role: Type.Optional(Type.Enum(['user', 'admin'])),
  },
  { minProperties: 1 },
)
const Account = Type.Object({
  id: Type.String(),
  email: NullableText,
  name: NullableText,
  provider: Type.String(),
  providerId: Type.String(),
  role: Type.Enum(['user', 'admin']),
  blockedAt: nullable(DateTime),
  createdAt: DateTime,
})

/** PATCH and DELETE /users/{id}: blocking, roles and deletion, for admins. */
export function userRoutes(scope: App, administration: Administration): void {
  changeRoute(scope, administration)
  deleteRoute(scope, administration)
}

function changeRoute(scope: App, administration: Administration): void {
  scope.patch(
    '/users/:id',
    {
      config: { access: { scope: 'users:write' } },
      schema: {
        tags: ['sign-in'],
        summary: 'Block or unblock an account or change its role; revokes its sessions and tokens',
        description:
          'A key needs the scope `admin` to make an account an administrator, and to unblock an administrator.',
        params: IdParams,
        body: Body,
        response: { 200: Account },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id)) throw new Problem('not-found')
      if (request.principal?.userId === id)
        throw new Problem('conflict', { detail: 'You cannot block your own account or change its role.' })
      const account = await administration.change(id, request.body, {
        origin: auditOrigin(request),
        requireAdmin: () => requireScope(request, 'admin'),
      })
      if (!account) throw new Problem('not-found')
      const { blockedAt, createdAt, lastSeenAt: _lastSeenAt, ...rest } = account
      const blocked = isoTimeOrNull(blockedAt)
      return reply.send({ ...rest, blockedAt: blocked, createdAt: isoTime(createdAt) })
    },
  )
}

function deleteRoute(scope: App, administration: Administration): void {
  scope.delete(
    '/users/:id',
    {
      config: { access: { scope: 'users:write' } },
      schema: {
        tags: ['sign-in'],
        summary: 'Delete an account with its identities, sessions, consents and tokens',
        description:
          'Entries of the audit log stay until their retention. Events that name the person stay until theirs. The next sign-in with the same identity makes a new account.',
        params: IdParams,
        response: noContent,
      },
    },
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
