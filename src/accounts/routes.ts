import type { AccountServices } from './services.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { Problem } from '../errors.ts'
import { withForms } from '../http/requests/parameters.ts'
import { wantsPage } from '../http/requests/accept.ts'
import { whenSignedOut } from '../http/access/access.ts'
import { type App, route } from '../http/app.ts'
import type { Principal } from '../http/access/principal.ts'
import type { Tx } from '../storage/database.ts'
import { auditOrigin } from './audit/audit.ts'
import { NullableText, optionalText } from '../http/schemas/schemas.ts'
import { ImpersonationView } from './sessions/impersonation.ts'

const tags = ['sign-in']

/** GET /auth/session and POST /auth/logout. */
export async function accountsRoutes(app: App, services: AccountServices): Promise<void> {
  await withForms(app, (scope) => {
    sessionRoute(scope, services)
    logoutRoute(scope, services)
  })
}

function sessionRoute(scope: App, services: AccountServices): void {
  const describe = sessionDescriber(services)
  scope.get(
    '/auth/session',
    route('user', tags, 'The signed-in user and the session', { response: { 200: CurrentSession } }),
    async ({ principal }) => describe(principal),
  )
}

function logoutRoute(scope: App, services: AccountServices): void {
  const { sessions, tokenFamilies, sessionCookie, audit, baseUrl } = services
  const answer = (reply: FastifyReply): FastifyReply => {
    const { request } = reply
    // Without the cookie in the request there is none to clear, or another site made the request. With the token of an app, only the
    // sign-in of the app ends. The session of the cookie goes on, and its browser needs the cookie to end it.
    const isOfApp = request.principal?.kind === 'token'
    if (!isOfApp && sessionCookie.read(request) !== undefined) sessionCookie.clear(reply)
    return wantsPage(request) ? reply.redirect(`${reply.server.basePath}/login`, 303) : reply.code(204).send()
  }
  scope.post(
    '/auth/logout',
    {
      config: { access: 'user', whileImpersonating: true, sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags,
        summary: 'Sign out; a form is redirected to /login',
        response: { 204: Type.Null(), 303: Type.Null() },
      },
      // A form of our own pages is redirected as usual when the session has already ended. A form of another site comes
      // without the cookie (SameSite=Lax) and must not end a session.
      errorHandler: whenSignedOut(baseUrl, answer, wantsPage),
    },
    async (request, reply) => {
      const { kind, impersonator, ...own } = signedIn(request)
      // An admin who acts for a user logs out of both sessions: the user's ends with the admin's own.
      const both = kind === 'session' ? impersonator : undefined
      const { userId, sessionId = '' } = both ?? own
      const entry = { action: 'user.signed_out', target: `session:${sessionId}`, userId } as const
      const record = (tx: Tx) => audit.record(tx, { ...auditOrigin(request), ...entry })
      if (kind === 'session') await sessions.revoke(userId, sessionId, record)
      else await tokenFamilies.revoke(userId, sessionId, record)
      return answer(reply)
    },
  )
}

/** The user and session of a call. @throws Problem `not-signed-in` */
export function sessionOf(request: Pick<FastifyRequest, 'principal'>): { userId: string; sessionId: string } {
  const { userId, sessionId } = signedIn(request)
  if (sessionId === undefined) throw new Problem('not-signed-in')
  return { userId, sessionId }
}

/** The principal of a user. @throws Problem `not-signed-in` */
export function signedIn({ principal }: Pick<FastifyRequest, 'principal'>): Principal & { userId: string } {
  if (!principal?.userId) throw new Problem('not-signed-in')
  return { ...principal, userId: principal.userId }
}

const subject = Type.String({ description: 'The user id, under its name in OpenID Connect' })

const User = Type.Object({
  id: Type.String(),
  sub: subject,
  email: NullableText,
  email_verified: Type.Boolean({
    description: 'Whether a provider of this user asserts that this e-mail address belongs to the person',
  }),
  name: NullableText,
  picture: NullableText,
  role: Type.Enum(['user', 'admin']),
})

const CurrentSession = Type.Object({
  sub: subject,
  user: User,
  session: Type.Object({ id: Type.String(), kind: Type.Enum(['session', 'token']) }),
  impersonation: Type.Optional(ImpersonationView),
  stepUp: optionalText(
    'For an admin without the required second factor (`ADMIN_MFA`): where to sign in with one',
  ),
})

/** What GET /auth/session answers. @throws Problem `not-signed-in` */
export function sessionDescriber({
  users,
  database,
  impersonations,
}: Pick<AccountServices, 'users' | 'database' | 'impersonations'>) {
  return async (principal: Principal | undefined): Promise<Static<typeof CurrentSession>> => {
    if (!principal?.userId) throw new Problem('not-signed-in')
    const { kind, userId, sessionId, role, stepUp } = principal
    const profile = await users.profile(database.reader, userId)
    if (!profile || kind === 'key' || kind === 'portal' || sessionId === undefined)
      throw new Problem('not-signed-in')
    // The role is the credential's: an app may have fewer rights than its user.
    const { id, email, emailVerified, name, picture } = profile
    const impersonation = await impersonations.describe(principal)
    return {
      sub: id,
      user: { id, sub: id, email, email_verified: emailVerified, name, picture, role },
      session: { id: sessionId, kind },
      ...(impersonation && { impersonation }),
      ...(stepUp && { stepUp: stepUp.path }),
    }
  }
}
