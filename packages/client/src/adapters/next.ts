import type { Session, Sessions, UserDemands } from '../session/sessions.ts'
import type { AccessTokenClaims } from '../tokens/claims.ts'
import type { TokenDemands, Verifier } from '../tokens/verifier.ts'
import { refusalResponse, tokenGuard, userGuard, type Guard } from './guards.ts'

type Handler<R extends Request, C> = (request: R, context: C) => Promise<Response>

/** A route handler of the app router that needs a signed-in user. */
export function withUser<R extends Request, C>(
  sessions: Pick<Sessions, 'requireUser'>,
  handler: (request: R, session: Session, context: C) => Response | Promise<Response>,
  demands?: UserDemands,
): Handler<R, C> {
  return guarded(userGuard(sessions, demands), handler)
}

/** A route handler of the app router that needs a valid access token. */
export function withToken<R extends Request, C>(
  verifier: Verifier,
  handler: (request: R, claims: AccessTokenClaims, context: C) => Response | Promise<Response>,
  demands?: TokenDemands,
): Handler<R, C> {
  return guarded(tokenGuard(verifier, demands), handler)
}

function guarded<R extends Request, C, T>(
  guard: Guard<T>,
  handler: (request: R, found: T, context: C) => Response | Promise<Response>,
): Handler<R, C> {
  return async (request, context) => {
    let found: T
    try {
      found = await guard(request)
    } catch (error) {
      return refusalResponse(error)
    }
    return handler(request, found, context)
  }
}

export interface MiddlewareOptions {
  /** Where the browser signs in, for the path and query that it wanted. Default: /login of the same host. */
  signInUrl?: ((wanted: string, request: Request) => string) | undefined
}

/**
 * `middleware.ts` (`proxy.ts` from Next.js 16 on): sends browsers that are not signed in to sign in, and lets all others go on.
 * It is a convenience for pages: a route handler must check by itself.
 */
export function createMiddleware(
  sessions: Pick<Sessions, 'getSession'>,
  { signInUrl = (wanted) => `/login?return_to=${encodeURIComponent(wanted)}` }: MiddlewareOptions = {},
): (request: Request) => Promise<Response | undefined> {
  return async (request) => {
    try {
      if (await sessions.getSession(request)) return undefined
    } catch (error) {
      return refusalResponse(error)
    }
    const { pathname, search } = new URL(request.url)
    const location = new URL(signInUrl(pathname + search, request), request.url)
    return new Response(null, {
      status: 307,
      headers: { location: location.href, 'cache-control': 'no-store' },
    })
  }
}
