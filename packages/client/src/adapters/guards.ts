import { errorOf, PosternError } from '../errors.ts'
import { headerOf, type HeaderSource } from '../http.ts'
import type { Session, Sessions, UserDemands } from '../session/sessions.ts'
import type { AccessTokenClaims } from '../tokens/claims.ts'
import type { TokenDemands, Verifier } from '../tokens/verifier.ts'

/** What a request must have, and what is then known of it. */
export type Guard<T> = (request: HeaderSource) => Promise<T>

/** A session that the service confirms for each request. */
export function userGuard(sessions: Pick<Sessions, 'requireUser'>, demands?: UserDemands): Guard<Session> {
  return (request) => sessions.requireUser(request, demands)
}

/** An access token, verified here. */
export function tokenGuard(verifier: Verifier, demands?: TokenDemands): Guard<AccessTokenClaims> {
  return async (request) => {
    try {
      const [, token] = /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '') ?? []
      if (token === undefined)
        throw errorOf('not-signed-in', 401, { detail: 'Send an access token as Bearer.' })
      return await verifier.verify(token, demands)
    } catch (error) {
      if (error instanceof PosternError && [401, 403].includes(error.status))
        error.challenge = verifier.challenge?.(error.code, demands)
      throw error
    }
  }
}

/** The answer to a request that a guard refuses. */
export interface Refusal {
  status: number
  headers: Record<string, string>
  /** Problem details (RFC 9457) as JSON. */
  body: string
}

/** @throws the error itself when it is no PosternError: a fault of the program. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof PosternError)) throw error
  const { code, detail, retryAfter } = error
  // What the service refused of us, as a status that concerns our caller.
  const status = [401, 403, 429].includes(error.status) ? error.status : 503
  const challenge = error.challenge ?? challenges[code] ?? (status === 401 ? 'Bearer' : undefined)
  return {
    status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      'cache-control': 'no-store',
      ...(challenge !== undefined && { 'www-authenticate': challenge }),
      ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter)) }),
    },
    body: JSON.stringify({ type: 'about:blank', status, code, detail }),
  }
}

/** RFC 6750, section 3. */
const challenges: Record<string, string> = {
  'invalid-token': 'Bearer error="invalid_token"',
  'insufficient-scope': 'Bearer error="insufficient_scope"',
}

/** The refusal as a Web Response. */
export function refusalResponse(error: unknown): Response {
  const { status, headers, body } = refusalOf(error)
  return new Response(body, { status, headers })
}

/** What guards found, by request: no property of a framework's object is taken, and the types need no augmentation. */
const found = new WeakMap<object, { session?: Session; claims?: AccessTokenClaims }>()

export function remember(request: object, what: { session?: Session; claims?: AccessTokenClaims }): void {
  found.set(request, { ...found.get(request), ...what })
}

/** The session of a request behind `requireUser`. @throws TypeError when that did not run. */
export function sessionOf(request: object): Session {
  const { session } = found.get(request) ?? {}
  if (!session) throw new TypeError('requireUser does not guard this route')
  return session
}

/** The claims of a request behind `requireToken`. @throws TypeError when that did not run. */
export function claimsOf(request: object): AccessTokenClaims {
  const { claims } = found.get(request) ?? {}
  if (!claims) throw new TypeError('requireToken does not guard this route')
  return claims
}
