import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { whenSignedOut } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { wantsPage } from '../../http/requests/accept.ts'
import { withForms } from '../../http/requests/parameters.ts'
import { closedObject, DateTime, IdParams, storablePattern } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { sessionOf, signedIn } from '../routes.ts'
import type { AccountServices } from '../services.ts'

const tags = ['sign-in']

const Body = closedObject({
  reason: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: storablePattern,
    description: 'Why, such as the number of a support ticket. The user and the audit log see it.',
  }),
})

/** POST /users/{id}/impersonate and POST /auth/impersonation/stop. */
export async function impersonationRoutes(app: App, services: AccountServices): Promise<void> {
  startRoute(app, services)
  await withForms(app, (routes) => stopRoute(routes, services))
}

function startRoute(app: App, services: AccountServices): void {
  const { impersonations, mayImpersonate, recentSignIn, sessions, sessionCookie } = services
  app.post(
    '/users/:id/impersonate',
    route(
      { scope: 'admin' },
      tags,
      "Act for a user: replaces the browser's session for up to an hour",
      {
        description:
          'For the session of an administrator who signed in recently; not for API keys. `IMPERSONATION` must be `on`. The session can read what the user can, and change nothing.',
        params: IdParams,
        body: Body,
        response: { 200: Type.Object({ session: Type.Object({ id: Type.String(), expiresAt: DateTime }) }) },
      },
      { sends: { sometimes: ['Set-Cookie'] } },
    ),
    async (request, reply) => {
      await recentSignIn.require(request, 'impersonation.refused')
      const token = sessionCookie.read(request)
      const session = await sessions.find(token)
      if (token === undefined || !session) throw new Problem('not-signed-in')
      if (!mayImpersonate(session))
        throw new Problem('forbidden', { detail: 'IMPERSONATION is off in the settings of the service.' })
      const userId = request.params.id
      if (!isId(userId)) throw new Problem('not-found')
      const { reason } = request.body
      const { id, expiresAt } = await impersonations.start(reply, { userId, reason }, { session, token })
      return { session: { id, expiresAt: isoTime(expiresAt) } }
    },
  )
}

function stopRoute(routes: App, services: AccountServices): void {
  const { impersonations, sessions, sessionCookie, baseUrl } = services
  const next = async (reply: FastifyReply, userId?: string): Promise<FastifyReply> => {
    const own = await impersonations.restore(reply)
    if (!own && sessionCookie.read(reply.request) !== undefined) sessionCookie.clear(reply)
    if (!wantsPage(reply.request)) return reply.code(204).send()
    const page = own === undefined ? '/login' : `/dashboard${userId === undefined ? '' : `/users/${userId}`}`
    return reply.redirect(`${reply.server.basePath}${page}`, 303)
  }
  routes.post(
    '/auth/impersonation/stop',
    {
      config: { access: 'session', whileImpersonating: true, sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags,
        summary: "Stop acting for a user: the browser gets the administrator's session back",
        response: { 204: Type.Null(), 303: Type.Null() },
      },
      // The session may have expired before the admin chooses Stop.
      errorHandler: whenSignedOut(baseUrl, (reply) => next(reply), wantsPage),
    },
    async (request, reply) => {
      if (!signedIn(request).impersonator)
        throw new Problem('conflict', { detail: 'You are not acting for a user in this session.' })
      const { userId, sessionId } = sessionOf(request)
      // The end of the session writes the entry of the audit log.
      await sessions.revoke(userId, sessionId)
      return next(reply, userId)
    },
  )
}
