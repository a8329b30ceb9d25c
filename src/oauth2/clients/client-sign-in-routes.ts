import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { DateTime, IdParams, noContent, nullable, NullableText } from '../../http/schemas/schemas.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { ClientSignIn, ClientSignIns } from './client-sign-ins.ts'

const tags = ['apps']

const SignIn = Type.Object({
  id: Type.String({ description: 'The `sid` of its tokens' }),
  userId: Type.String(),
  email: NullableText,
  name: NullableText,
  provider: Type.String({ description: 'The identity provider of the sign-in' }),
  device: Type.String({ description: 'The browser and system of the sign-in, such as `Firefox on Linux`' }),
  address: nullable(Type.String(), 'The address of the client at the sign-in'),
  scopes: Type.Array(Type.String()),
  createdAt: DateTime,
  lastSeenAt: DateTime,
  expiresAt: DateTime,
})

/** /clients/{id}/sign-ins: who is signed in to an app, for admins. */
export function clientSignInRoutes(routes: App, signIns: ClientSignIns): void {
  routes.get(
    '/clients/:id/sign-ins',
    {
      config: { access: { scope: 'clients:read' } },
      schema: {
        tags,
        summary: 'The live sign-ins in an app, newest first',
        params: IdParams,
        querystring: Type.Object(pageParameters()),
        response: { 200: pageSchema(SignIn) },
      },
    },
    async ({ params: { id }, query }) => viewPage(await signIns.page(id, readPageRequest(query)), view),
  )
  routes.delete(
    '/clients/:id/sign-ins/:signInId',
    {
      config: { access: { scope: 'clients:write' } },
      schema: {
        tags,
        summary: 'End one sign-in in an app: its refresh tokens and access tokens are rejected',
        params: Type.Object({ id: Type.String(), signInId: Type.String() }),
        response: noContent,
      },
    },
    async (request, reply) => {
      const { id, signInId } = request.params
      if (!isId(signInId) || !(await signIns.revoke(id, signInId, auditOrigin(request))))
        throw new Problem('not-found')
      return reply.code(204).send(null)
    },
  )
}

function view({ scope, createdAt, lastSeenAt, expiresAt, ...signIn }: ClientSignIn) {
  return {
    ...signIn,
    scopes: scope?.split(' ').filter((one) => one !== '') ?? [],
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoTime(expiresAt),
  }
}
