import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOriginOf, type AuditOrigin } from '../accounts/audit/audit.ts'
import type { BoundBrowser } from '../http/responses/host-cookie.ts'
import { Problem } from '../errors.ts'
import { actsOnGet } from '../http/access/access.ts'
import { type App, route } from '../http/app.ts'
import {
  publicDocument,
  publicDocumentHeaders,
  publicDocumentPreflights,
} from '../http/responses/cross-origin.ts'
import { loginPath } from '../http/requests/base-path.ts'
import type { TrustedProxies } from '../http/limits/client-address.ts'
import { unknownHost, normalHost, returnPath } from './forwarded-request.ts'
import type { GuardedHost } from './hosts.ts'
import { acceptedLanguage, refusedPage } from './pages.ts'
import { optionalText } from '../http/schemas/schemas.ts'
import type { AccountServices } from '../accounts/services.ts'
import type { SessionToken } from '../accounts/sessions/sessions.ts'
import { hashToken, newToken } from '../crypto/secrets.ts'
import { deleteExpired } from '../storage/sql-text.ts'
import type { ForwardAuthBasis } from './passes.ts'

interface HostRoutesParts extends ForwardAuthBasis {
  /** Where hosts have the metadata of an API. */
  resourcePaths: readonly string[]
  proxies: TrustedProxies
}

const tags = ['sign-in']
/** Codes of one session in a minute: more than tabs that a browser restores. */
const mostCodes = 300
const paths = { start: '/.postern/start', signIn: '/.postern/sign-in', callback: '/.postern/callback' }
const ReturnTo = optionalText('The path to return to at the host')

/**
 * The sign-in at another host than the service's own. `start`, at that host, binds the browser by a cookie. `sign-in`, at the service's
 * host, knows the session and issues a one-time code. `callback`, again at the other host, exchanges it for a cookie of that host.
 */
export function hostRoutes(app: App, parts: HostRoutesParts): void {
  startRoute(app, parts)
  signInRoute(app, parts)
  callbackRoute(app, parts)
  resourceRoutes(app, parts)
}

function startRoute(app: App, parts: HostRoutesParts): void {
  app.get(
    paths.start,
    {
      ...actsOnGet,
      ...route(
        'public',
        tags,
        'On an application’s host: start the sign-in',
        { querystring: Type.Object({ return_to: ReturnTo }), response: { 303: Type.Null() } },
        { sends: { always: ['Set-Cookie'] } },
      ),
    },
    async (request, reply) => {
      const { host } = otherHostOf(request, parts)
      const to = new URL(`${parts.baseUrl()}${paths.signIn}`)
      to.searchParams.set('host', host)
      to.searchParams.set('browser', parts.binding.of(request, reply).bind().toString('base64url'))
      to.searchParams.set('return_to', returnPath(request.query.return_to))
      return reply.redirect(to.href, 303)
    },
  )
}

function signInRoute(app: App, parts: HostRoutesParts): void {
  const { hosts, sessions, sessionCookie, noteRefusal } = parts
  app.get(
    paths.signIn,
    {
      ...actsOnGet,
      ...route('public', tags, 'On the service’s host: pass the session to an application’s host', {
        querystring: Type.Object({
          host: optionalText('A host that the configuration names'),
          browser: optionalText('SHA-256 of the cookie that binds the browser, in base64url'),
          return_to: ReturnTo,
        }),
        response: { 303: Type.Null() },
      }),
    },
    async (request, reply) => {
      const { host = '', browser = '', return_to: returnTo } = request.query
      const guarded = hosts().get(host)
      if (!guarded || guarded.isOwn) {
        await noteRefusal(request, { action: 'forward_auth.refused', code: 'unknown-host' })
        throw new Problem('forbidden', unknownHost)
      }
      if (!/^[\w-]{43}$/.test(browser)) throw new Problem('invalid-parameter', { parameter: 'browser' })
      const session = await sessions.find(sessionCookie.read(request))
      if (!session) {
        const query = new URLSearchParams({ host, browser, return_to: returnPath(returnTo) }).toString()
        const back = `${app.basePath}${paths.signIn}?${query}`
        return reply.redirect(loginPath(app.basePath, { return_to: back }), 303)
      }
      app.limits.take(reply, `codes of session ${session.id}`, mostCodes)
      const code = await issueCode(parts, {
        sessionId: session.id,
        host,
        browser,
        returnTo: returnPath(returnTo),
      })
      return reply.redirect(`${guarded.origin}${paths.callback}?code=${code}`, 303)
    },
  )
}

function callbackRoute(app: App, parts: HostRoutesParts): void {
  const { hostCookie, binding, noteRefusal } = parts
  app.get(
    paths.callback,
    {
      ...actsOnGet,
      config: { access: 'public', sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags,
        summary: 'On an application’s host: exchange the code for this host’s cookie',
        querystring: Type.Object({ code: optionalText('The one-time code') }),
        response: {
          303: Type.Null(),
          403: {
            description: 'The code is unknown, or of another host or browser.',
            content: { 'text/html': { schema: Type.String() } },
          },
        },
      },
    },
    async (request, reply) => {
      const { host } = otherHostOf(request, parts)
      const { code = '' } = request.query
      const redeemed = await redeemCode(parts, code, {
        host,
        browser: binding.of(request, reply),
        origin: auditOriginOf(request, undefined),
      })
      if (typeof redeemed === 'string') {
        await noteRefusal(request, {
          action: 'forward_auth.refused',
          code: redeemed,
          target: `host:${host}`,
        })
        const page = refusedPage(acceptedLanguage(request.headers['accept-language']))
        return reply.code(403).type('text/html; charset=utf-8').send(page)
      }
      // Without a token, the page there begins the sign-in again, unless the browser has its cookie already.
      const { token, returnTo } = redeemed
      if (token) hostCookie.set(reply, token.token, token.maxAge)
      return reply.redirect(returnTo, 303)
    },
  )
}

/** At an API's host: the metadata by which its clients find this service (RFC 9728). */
function resourceRoutes(app: App, { hosts, resourcePaths, proxies }: HostRoutesParts): void {
  for (const path of new Set(resourcePaths)) {
    publicDocumentPreflights(app, path)
    app.get(
      path,
      {
        config: publicDocument,
        schema: {
          tags,
          summary: 'At an API’s host: its metadata, which name this service (RFC 9728)',
          response: { 200: Type.Object({ resource: Type.String() }, { additionalProperties: true }) },
        },
      },
      async (request, reply) => {
        const { resource } = hosts().get(normalHost(proxies.hostOf(request.raw))) ?? {}
        if (resource?.path !== path) throw new Problem('not-found')
        reply.headers({ 'cache-control': 'public, max-age=300', ...publicDocumentHeaders })
        return { ...resource.metadata }
      },
    )
  }
}

/** The guarded host that a browser called, other than the service's own. @throws Problem `forbidden` */
function otherHostOf(request: FastifyRequest, { proxies, hosts }: HostRoutesParts): GuardedHost {
  const guarded = hosts().get(normalHost(proxies.hostOf(request.raw)))
  if (!guarded || guarded.isOwn) throw new Problem('forbidden', unknownHost)
  return guarded
}

/** Milliseconds from the issue of a code to its use at most. */
const lifetime = 60_000
/** Milliseconds for which a code outlives its end: a browser that comes too late, or twice, still learns where its sign-in leads. */
const retention = 3_600_000

/** Why a code was refused. */
type CodeFault = 'unknown-code' | 'other-host' | 'other-browser'

/** Where a sign-in leads. Without a token, the code was used before or has expired, or the session has ended. */
interface RedeemedCode {
  returnTo: string
  token?: SessionToken
}

/**
 * Issues a one-time code that carries a session to another host.
 * @param to.browser SHA-256 of the value of the binding cookie, in base64url
 */
async function issueCode(
  { database, clock }: AccountServices,
  to: { sessionId: string; host: string; browser: string; returnTo: string },
): Promise<string> {
  const code = newToken()
  await database.transaction((tx) =>
    tx
      .insertInto('host_codes')
      .values({
        code_hash: hashToken(code),
        session_id: to.sessionId,
        host: to.host,
        browser_hash: Buffer.from(to.browser, 'base64url'),
        return_to: to.returnTo,
        expires_at: clock.now() + lifetime,
      })
      .execute(),
  )
  return code
}

/**
 * Uses up a code, in one statement, and creates the token of its session for the host. Another host or browser cannot use it up.
 */
async function redeemCode(
  { database, clock, hostSessions, audit }: AccountServices,
  code: string,
  { host, browser, origin }: { host: string; browser: BoundBrowser; origin: AuditOrigin },
): Promise<RedeemedCode | CodeFault> {
  const now = clock.now()
  const hash = hashToken(code)
  return database.transaction(async (tx) => {
    const row = await tx.selectFrom('host_codes').selectAll().where('code_hash', '=', hash).executeTakeFirst()
    if (!row) return 'unknown-code'
    if (row.host !== host) return 'other-host'
    if (!browser.isBoundTo(row.browser_hash)) return 'other-browser'
    const { session_id: sessionId, return_to: returnTo } = row
    const used = await tx
      .updateTable('host_codes')
      // Not now: the clock of another process may be behind.
      .set({ expires_at: now - lifetime })
      .where('code_hash', '=', hash)
      .where('expires_at', '>', now)
      .returning('host')
      .executeTakeFirst()
    const created = used && (await hostSessions.create(tx, { sessionId, host }))
    if (!created) return { returnTo }
    const { userId, impersonatorId, ...token } = created
    await audit.record(tx, {
      ...origin,
      action: 'forward_auth.signed_in',
      actor: `user:${impersonatorId ?? userId}`,
      sessionId,
      userId,
      target: `host:${host}`,
    })
    return { returnTo, token }
  })
}

/** Deletes the codes whose end is long over. */
export function sweepCodes({ database }: AccountServices, now: number): Promise<void> {
  return deleteExpired(database, 'host_codes', now - retention)
}
