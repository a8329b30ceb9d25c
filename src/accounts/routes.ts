import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import { isForeignWrite } from '../http/access.ts'
import type { App } from '../http/app.ts'
import type { Principal } from '../http/principal.ts'
import type { Database, Tx } from '../storage/database.ts'
import { auditOrigin, type Audit, type AuditEntry } from './audit.ts'
import type { HostCookie } from './host-cookie.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { Sessions } from './sessions.ts'
import type { Users } from './users.ts'

export interface AccountsRoutesParts {
  database: Database
  users: Users
  sessions: Sessions
  refreshTokens: RefreshTokens
  cookie: HostCookie
  audit: Audit
  /** Our own origin. */
  baseUrl: () => string
}

const tags = ['sign-in']
const Nullable = Type.Union([Type.String(), Type.Null()])

const User = Type.Object({
  id: Type.String(),
  email: Nullable,
  name: Nullable,
  role: Type.Enum(['user', 'admin']),
})

/** The calls about one's own account. */
export async function accountsRoutes(app: App, parts: AccountsRoutesParts): Promise<void> {
  const { database, users, sessions, refreshTokens, cookie, audit, baseUrl } = parts
  /** Writes an entry about the caller's own account. */
  const recorder = (request: FastifyRequest, entry: AuditEntry) => (tx: Tx) =>
    audit.record(tx, { ...auditOrigin(request), userId: request.principal?.userId, ...entry })

  await app.register(async (scope: App) => {
    neverStored(scope)
    acceptForms(scope)

    scope.get(
      '/auth/session',
      {
        config: { access: 'user' },
        schema: {
          tags,
          summary: 'Who am I',
          response: {
            200: Type.Object({
              user: User,
              session: Type.Object({ id: Type.String(), kind: Type.Enum(['session', 'token']) }),
              stepUp: Type.Optional(
                Type.String({
                  description:
                    'Of an admin whose sign-in shows no second factor (`ADMIN_MFA`): where to sign in with one',
                }),
              ),
            }),
          },
        },
      },
      async ({ principal }) => {
        const { kind, userId, sessionId, role, stepUp } = signedIn({ principal })
        const user = await users.find(database.reader, userId)
        if (!user || kind === 'key' || kind === 'portal' || sessionId === undefined)
          throw new Problem('not-signed-in')
        // The role is that of the credential: an app's may be less than its user's.
        return {
          user: { ...user, role },
          session: { id: sessionId, kind },
          ...(stepUp !== undefined && { stepUp }),
        }
      },
    )

    scope.post(
      '/auth/logout',
      {
        config: { access: 'user', sends: { sometimes: ['Set-Cookie'] } },
        schema: {
          tags,
          summary: 'Sign out; a form is sent to /login',
          response: { 204: Type.Null(), 303: Type.Null() },
        },
        // A form of ours that is sent after the session has ended leads to where it would have led. One that another
        // site sends comes without the cookie (Lax), so nobody seems to be signed in: nothing may end by it.
        errorHandler: (error, request, reply) => {
          const over = error instanceof Problem && error.code === 'not-signed-in'
          if (!over || !wantsPage(request) || isForeignWrite(request, baseUrl())) throw error
          void goodbye(request, reply)
        },
      },
      async (request, reply) => {
        const { kind, userId, sessionId = '' } = signedIn(request)
        const record = recorder(request, { action: 'user.signed_out', target: `session:${sessionId}` })
        if (kind === 'session') await sessions.revoke(userId, sessionId, record)
        else await refreshTokens.revoke(userId, sessionId, record)
        return goodbye(request, reply)
      },
    )

    function goodbye(request: FastifyRequest, reply: FastifyReply): FastifyReply {
      // A browser that did not send it has none, or keeps it back from whoever made the call.
      if (cookie.read(request) !== undefined) cookie.clear(reply)
      return wantsPage(request) ? reply.redirect('/login', 303) : reply.code(204).send()
    }
  })
}

/** Answers of sign-in hold what is one person's: no cache, of a browser or on the way, may keep them. */
export function neverStored(scope: App): void {
  scope.addHook('onRoute', (route) => {
    const { always = [], ...others } = route.config?.sends ?? {}
    route.config = { ...route.config, sends: { ...others, always: ['Cache-Control', ...always] } }
  })
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
}

/** Forms, with every field as a string. A field that comes twice could be read in two ways, so it is refused. */
export function acceptForms(scope: App, bodyLimit?: number): void {
  scope.bodies.parse(
    scope,
    ['application/x-www-form-urlencoded'],
    (_request, bytes, done) => {
      const fields = Object.create(null) as Record<string, string>
      for (const [name, value] of new URLSearchParams(bytes.toString())) {
        if (name in fields)
          return done(new Problem('bad-request', { detail: `The field ${name} came twice.` }))
        fields[name] = value
      }
      done(null, fields)
    },
    bodyLimit,
  )
}

/** The caller, who must be a user. @throws Problem `not-signed-in` */
export function signedIn({ principal }: Pick<FastifyRequest, 'principal'>): Principal & { userId: string } {
  if (!principal?.userId) throw new Problem('not-signed-in')
  return { ...principal, userId: principal.userId }
}

function wantsPage(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') === true
}
