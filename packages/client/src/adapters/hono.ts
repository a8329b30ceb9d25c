import type { Session, Sessions, UserDemands } from '../session/sessions.ts'
import type { AccessTokenClaims } from '../tokens/claims.ts'
import type { TokenDemands, Verifier } from '../tokens/verifier.ts'
import { refusalResponse, tokenGuard, userGuard, type Guard } from './guards.ts'

interface Context<Name extends string, T> {
  req: { raw: Request }
  set(name: Name, value: T): void
}
type Next = () => Promise<void>
type Middleware<Name extends string, T> = (
  context: Context<Name, T>,
  next: Next,
) => Promise<Response | undefined>

/** Lets signed-in users through; `c.get('session')` then gives the session. */
export function requireUser(
  sessions: Pick<Sessions, 'requireUser'>,
  demands?: UserDemands,
): Middleware<'session', Session> {
  return middleware('session', userGuard(sessions, demands))
}

/** Lets valid access tokens through; `c.get('claims')` then gives the claims. */
export function requireToken(
  verifier: Verifier,
  demands?: TokenDemands,
): Middleware<'claims', AccessTokenClaims> {
  return middleware('claims', tokenGuard(verifier, demands))
}

function middleware<Name extends string, T>(name: Name, guard: Guard<T>): Middleware<Name, T> {
  return async (context, next) => {
    try {
      context.set(name, await guard(context.req.raw))
    } catch (error) {
      return refusalResponse(error)
    }
    await next()
    return undefined
  }
}
