import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { Problem } from '../errors.ts'
import { isAddressedToThisMachine } from './loopback-only.ts'
import type { Access, Authenticate, Principal } from './principal.ts'
import type { RateLimits } from './rate-limits.ts'

/** Told, before it is refused, of a call that a page of another site made with the cookie of somebody. */
export type NoteForeignCall = (request: FastifyRequest, principal: Principal) => Promise<void>

export interface Guard {
  authenticate: Authenticate
  /** For the routes of the portal, which know no other credential. */
  authenticatePortal: Authenticate
  limits: RateLimits
  /** Our own origin: the only one whose pages may change something with the cookie. */
  origin: () => string
  /** Whether the routes that are `openInDemo` are open to calls on this machine. */
  demo: boolean
  noteForeignCall: NoteForeignCall | undefined
}

/**
 * Puts the guard that a route's `config.access` asks for in front of it. A route that declares none is a programming
 * error that stops the start: access is never open by forgetting.
 */
export function guardRoutes(app: FastifyInstance, guarding: Guard): void {
  const { limits, origin, demo, noteForeignCall } = guarding
  app.decorateRequest('principal', undefined)
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    if (!access) throw new Error(`${String(route.method)} ${route.url} does not declare its access`)
    if (access === 'public') return
    const authenticate = access === 'portal' ? guarding.authenticatePortal : guarding.authenticate
    const open = demo && route.config?.openInDemo === true
    const guard: onRequestAsyncHookHandler = async (request, reply) => {
      if (open && isAddressedToThisMachine(request)) return
      const principal = await authenticate(request)
      if (!principal) throw new Problem('not-signed-in')
      // Whether the call came from our own pages is asked before what it may do.
      const byCookie = principal.kind === 'session' || principal.kind === 'portal'
      if (byCookie && isForeignWrite(request, origin())) {
        if (principal.kind === 'session') await noteForeignCall?.(request, principal)
        throw new Problem('foreign-origin')
      }
      limits.account(request, reply, principal)
      allow(access, principal)
      request.principal = principal
    }
    const others = route.onRequest ? [route.onRequest].flat() : []
    route.onRequest = [guard, ...others] as NonNullable<typeof route.onRequest>
  })
}

function allow(access: Access, principal: Principal): void {
  if ((access === 'portal') !== (principal.kind === 'portal')) throw new Problem('forbidden')
  if (access === 'admin' && principal.role !== 'admin')
    throw new Problem('forbidden', { detail: 'This call needs the admin role.' })
  if (access === 'user' && !principal.userId)
    throw new Problem('forbidden', { detail: 'This call needs a signed-in user; an API key has none.' })
  if (access === 'session' && principal.kind !== 'session')
    throw new Problem('forbidden', { detail: 'This call needs a signed-in browser session.' })
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Cookies travel with requests that foreign pages make. A call that changes something is foreign when the browser says
 * that another site made it: by Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), or by Origin in browsers
 * without it. A client that sends neither is no browser, and then no foreign page is behind it.
 */
export function isForeignWrite(request: FastifyRequest, origin: string): boolean {
  if (safeMethods.has(request.method)) return false
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const from = request.headers.origin
  // Our pages send no referrer, and a browser then writes `null` as the origin of their own forms.
  const ownForm = from === 'null' && site === 'same-origin'
  return from !== undefined && from !== origin && !ownForm
}
