import { Type } from 'typebox'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Administration } from './administration.ts'
import { auditOrigin } from './audit.ts'
import { DateTime, nullable, NullableText } from '../http/schemas/schemas.ts'
import { isoTime } from '../runtime/iso-time.ts'

const Body = Type.Object(
  {
    blocked: Type.Optional(
      Type.Boolean({ description: 'true: all sessions and tokens are revoked at once' }),
    ),
    role: Type.Optional(Type.Enum(['user', 'admin'])),
  },
  { additionalProperties: false, minProperties: 1 },
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

/** PATCH /users/{id}: blocking and roles, for admins. */
export function userRoutes(scope: App, administration: Administration): void {
  scope.patch(
    '/users/:id',
    {
      config: { access: { scope: 'users:write' } },
      schema: {
        tags: ['sign-in'],
        summary: 'Block or unblock an account or change its role; revokes its sessions and tokens',
        params: Type.Object({ id: Type.String() }),
        body: Body,
        response: { 200: Account },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id)) throw new Problem('not-found')
      if (request.principal?.userId === id)
        throw new Problem('conflict', { detail: 'You cannot block your own account or change its role.' })
      const account = await administration.change(id, request.body, auditOrigin(request))
      if (!account) throw new Problem('not-found')
      const { blockedAt, createdAt, lastSeenAt: _lastSeenAt, ...rest } = account
      const blocked = blockedAt === null ? null : isoTime(blockedAt)
      return reply.send({ ...rest, blockedAt: blocked, createdAt: isoTime(createdAt) })
    },
  )
}
