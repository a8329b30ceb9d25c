import type { FastifyReply, FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { Problem, type ProblemCode } from '../../errors.ts'
import {
  type Access,
  type Authenticate,
  type Principal,
  type StepUp,
  isScope,
  type Scope,
  type ScopeChoice,
} from './principal.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import { hostnameOf, isLoopbackHost } from '../../network/egress.ts'
import { clientIp } from '../limits/client-address.ts'

/** Called before a cross-site write with a user's cookie is refused. */
export type NoteForeignCall = (request: FastifyRequest, principal: Principal) => Promise<void>

/** Called when a caller lacks permission. Does not reject. */
export type NoteForbidden = (
  request: FastifyRequest,
  principal: Principal,
  code: ProblemCode,
) => Promise<void>

export interface GuardParts {
  authenticate: Authenticate
  /** For the routes of the portal, which accept no other credential, and for those with `orOwner`. */
  authenticatePortal: Authenticate
  limits: RateLimits
  /** Only pages of its origin may change something with the cookie. */
  baseUrl: () => string
  /** Whether the routes that are `openInDemo` are open to calls on this machine. */
  demo: boolean
  noteForeignCall: NoteForeignCall | undefined
  noteForbidden: NoteForbidden | undefined
}

/**
 * Puts the guard that a route's `config.access` asks for in front of it. A route that declares none is a programming
 * error that stops the start: access is never open by forgetting.
 */
export function guardRoutes(app: FastifyInstance, guarding: GuardParts): void {
  const { limits, baseUrl, demo, noteForeignCall, noteForbidden } = guarding
  app.decorateRequest('principal', undefined)
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    if (!isAccess(access)) throw new Error(`${String(route.method)} ${route.url} does not declare its access`)
    if (access === 'public') return
    const isForOwners = typeof access === 'object' && access.orOwner === true
    const open = demo && route.config?.openInDemo === true
    const guard: onRequestAsyncHookHandler = async (request, reply) => {
      if (open && isAddressedToThisMachine(request)) return
      const owner =
        access === 'portal' || isForOwners ? await guarding.authenticatePortal(request) : undefined
      const principal = owner ?? (access === 'portal' ? undefined : await guarding.authenticate(request))
      if (!principal) throw new Problem('not-signed-in', open ? { detail: openToThisMachine } : {})
      // Also for refused callers, because their names are recorded.
      request.principal = principal
      // Origin before permission.
      const byCookie = principal.kind === 'session' || access === 'portal'
      if (byCookie && isForeignWrite(request, baseUrl())) {
        await noteForeignCall?.(request, principal)
        throw new Problem('foreign-origin')
      }
      const pending = limits.countByCaller(request, reply, principal)
      if (pending) await pending
      const mayWrite = route.config?.whileImpersonating === true
      if (principal.impersonator && !mayWrite && !safeMethods.has(request.method))
        throw new Problem('impersonating')
      requireAccess(access, principal)
    }
    const others = route.onRequest ? [route.onRequest].flat() : []
    route.onRequest = [guard, ...others] as NonNullable<typeof route.onRequest>
  })
  // Some handlers know only late what a call asks for, so refusals are noted where errors arrive and not in the guard.
  // Others go on in the same turn: Node closes the connection behind a request of HTTP/2 before the next.
  app.addHook('onError', (request, _reply, error, done) => {
    const { principal } = request
    const isNoted = error instanceof Problem && notedProblems.has(error.code)
    if (!principal || !isNoted || !noteForbidden) return done()
    void noteForbidden(request, principal, error.code).finally(done)
  })
}

/** Refusals of a known caller for a lack of permission. */
const notedProblems: ReadonlySet<string> = new Set([
  'forbidden',
  'insufficient-scope',
  'second-factor-needed',
  'impersonating',
])

/** Untyped code can declare routes too. */
function isAccess(access: Access | undefined): access is Access {
  if (typeof access === 'string') return ['public', 'user', 'session', 'portal'].includes(access)
  if (typeof access !== 'object' || access === null) return false
  const choice = scopesOf(access.scope)
  return Array.isArray(choice) && choice.length > 0 && choice.every(isScope)
}

/** The scopes of a choice as an array. */
export function scopesOf(choice: ScopeChoice): readonly Scope[] {
  return typeof choice === 'string' ? [choice] : choice
}

/** Whether credentials with the scopes `held` may do what asks for any of the scopes of `choice`. */
export function holdsScope(held: readonly string[], choice: ScopeChoice): boolean {
  return held.includes('admin') || scopesOf(choice).some((scope) => held.includes(scope))
}

/**
 * Refuses a caller that is neither an administrator nor an API key with one of the scopes of `choice`.
 * @throws Problem `insufficient-scope` for an API key, `second-factor-needed` for an admin who has to show one, `forbidden` for
 * others, each with the challenge of RFC 6750, section 3.1, if the credential is a bearer token
 */
function requireScopeOf(principal: Principal, choice: ScopeChoice): void {
  if (principal.kind === 'key') {
    if (holdsScope(principal.scopes ?? [], choice)) return
    const named = scopesOf(choice)
    throw new Problem('insufficient-scope', {
      detail: `This call needs an API key with the scope ${named.join(' or ')}.`,
      challenge: `Bearer error="insufficient_scope", scope="${named[0]}"`,
    })
  }
  if (principal.role === 'admin' || holdsScope(principal.scopes ?? [], choice)) return
  if (principal.stepUp !== undefined)
    throw new Problem('second-factor-needed', {
      detail: `This call needs an admin who signed in with a second factor: sign in at ${principal.stepUp.path}.`,
      ...(principal.kind === 'token' && { challenge: stepUpChallenge(principal.stepUp) }),
    })
  throw new Problem('forbidden', {
    detail: 'This call needs the admin role.',
    ...(principal.kind === 'token' && { challenge: 'Bearer error="insufficient_scope"' }),
  })
}

/** RFC 9470, section 3: the app asks for a new token with these `acr_values`. */
function stepUpChallenge({ acrValues }: StepUp): string {
  const challenge = 'Bearer error="insufficient_user_authentication"'
  const named = acrValues.filter((value) => /^[!#-[\]-~]+$/.test(value))
  return named.length === 0 ? challenge : `${challenge}, acr_values="${named.join(' ')}"`
}

/**
 * For handlers that know the needed scope only after they read the call.
 * @throws Problem `not-signed-in` without a principal, and as `requireScopeOf`
 */
export function requireScope({ principal }: Pick<FastifyRequest, 'principal'>, choice: ScopeChoice): void {
  if (!principal) throw new Problem('not-signed-in')
  requireScopeOf(principal, choice)
}

function requireAccess(access: Access, principal: Principal): void {
  const isForOwners = access === 'portal' || (typeof access === 'object' && access.orOwner === true)
  if (principal.kind === 'portal' ? !isForOwners : access === 'portal') throw new Problem('forbidden')
  if (principal.kind === 'portal') return
  if (typeof access === 'object') {
    const isUser = access.orUser && principal.userId !== undefined && !principal.onlyScopes
    if (!isUser) requireScopeOf(principal, access.scope)
  }
  if (access === 'user' && !principal.userId)
    throw new Problem('forbidden', {
      detail: 'This call needs a signed-in user; an API key or an app without a user has none.',
    })
  if (access === 'user' && principal.onlyScopes)
    throw new Problem('forbidden', { detail: 'This app may call only what its scopes name.' })
  if (access === 'session' && principal.kind !== 'session')
    throw new Problem('forbidden', { detail: 'This call needs a signed-in browser session.' })
}

/** Whether a caller could call a route with this access. */
export function mayCall(principal: Principal, access: Access): boolean {
  try {
    requireAccess(access, principal)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Cookies travel with requests that foreign pages make. A call that changes something is foreign when the browser says
 * that another site made it: by Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), or in browsers without it by Origin,
 * or where that is missing by Referer. A client that sends none of them is no browser, and then no foreign page is behind it.
 */
export function isForeignWrite(request: FastifyRequest, baseUrl: string): boolean {
  if (safeMethods.has(request.method)) return false
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin } = new URL(baseUrl)
  const from = request.headers.origin
  if (from === undefined) return site !== 'same-origin' && isForeignReferer(request.headers.referer, origin)
  // Our pages send no referrer, and a browser then writes `null` as the origin of their own forms.
  const ownForm = from === 'null' && site === 'same-origin'
  return from !== origin && !ownForm
}

/**
 * The error handler of a page's form whose session may have expired before it was sent. Others' forms get the problem.
 * @param answer what the person gets
 * @param isForm whether a page sent the request. Default: always, for a route that programs do not call
 */
export function whenSignedOut(
  baseUrl: () => string,
  answer: (reply: FastifyReply) => unknown,
  isForm = (_request: FastifyRequest): boolean => true,
) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    const isOver = error instanceof Problem && error.code === 'not-signed-in'
    if (!isOver || !isForm(request) || isForeignWrite(request, baseUrl())) throw error
    void answer(reply)
  }
}

/** An unparsable Referer counts as foreign. */
function isForeignReferer(referer: string | undefined, origin: string): boolean {
  return referer !== undefined && URL.parse(referer)?.origin !== origin
}

/** Characters: a token with as many claims as `login.claims` may add has about 7,000. */
const bearer = /^Bearer +([\x21-\x7e]{1,8192})$/i
/** The three parts of a signed JWT; the first one is JSON and therefore begins with `{"`. */
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

/** The credential in an Authorization header. @throws Problem `not-signed-in` for another form than `Bearer <credential>` */
export function readBearer(authorization: string): string {
  const token = bearer.exec(authorization)?.[1]
  if (token) return token
  throw new Problem('not-signed-in', {
    detail: 'The Authorization header is not of the form `Bearer <credential>`.',
  })
}

/** Whether it has the form of an access token, unlike API keys and refresh tokens. */
export function isJwt(token: string): boolean {
  return jwt.test(token)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Pages call it by themselves, so that a call says nothing about a person. */
    background?: true
  }
}

/**
 * Whether a page makes this call by itself, as an open dashboard does all day. Such a call does not count as use of the session:
 * otherwise an abandoned page would keep its session alive. The page sends the header `Postern-Background`; routes that only pages
 * call by themselves have `background` in their configuration. The header has an effect on GET and HEAD only.
 */
export function isBackground({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.background) return true
  return (method === 'GET' || method === 'HEAD') && headers['postern-background'] !== undefined
}

/**
 * The options of a GET that uses something up or issues something: a state, a one-time code, a session. Nobody asked for what a HEAD
 * or a prefetch would do there (RFC 9110, section 9.2.1), and the person's own request would then fail. HEAD is answered 405.
 */
export const actsOnGet = { exposeHeadRoute: false, onRequest: rejectPrefetch() }

function rejectPrefetch(): onRequestAsyncHookHandler {
  // An error, because browsers show a prefetched success to the person later.
  return async ({ headers }) => {
    const purposes = [headers['sec-purpose'], headers['purpose'], headers['x-purpose'], headers['x-moz']]
    if (purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose))))
      throw new Problem('prefetch-rejected')
  }
}

/** The headers that proxies add (RFC 7239; RFC 9110, section 7.6.3; and the names in use before them). */
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
] as const

/** The detail for refused callers. */
const openToThisMachine =
  'In demo mode no credential is needed on this machine itself: call it from here as localhost, 127.0.0.1 or [::1], and not through a proxy (Forwarded, Via, X-Forwarded-*, X-Real-IP).'

/**
 * Whether a request comes from this machine, names it in its Host header and did not come through a proxy. Listening on loopback does
 * not keep others out: with DNS rebinding, a page makes its visitor's browser call 127.0.0.1, and a reverse proxy or tunnel on this
 * machine forwards calls of others. Most proxies replace the Host, so only the headers that they add reveal them. A program that
 * mounts the service may listen on other addresses, where a client writes any Host.
 */
function isAddressedToThisMachine(request: FastifyRequest): boolean {
  const { headers } = request
  const { host } = headers
  if (!isLoopbackHost(clientIp(request))) return false
  const isOurs = host === undefined || isLoopbackHost(hostnameOf(host))
  return isOurs && proxyHeaders.every((name) => headers[name] === undefined)
}

/** For routes without a credential, such as the identity provider of demo mode: refuses other hosts and proxies. */
export function refuseOtherHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isAddressedToThisMachine(request)) done()
    else done(new Problem('misdirected-request', { detail: openToThisMachine }))
  })
}
