import type { Calls } from '../api/calls.ts'
import { errorOf, errorOfResponse } from '../errors.ts'
import { addressOf, readObject, send, type Fetch, type HeaderSource } from '../http.ts'
import { scopesOf } from '../tokens/scopes.ts'
import { credentialOf } from './credential.ts'

/** The answer of GET /auth/session. `stepUp`: where an admin who lacks the required second factor signs in with one. */
export type Session = Calls['GET /auth/session']['answer']

/** The role is the credential's: an app may have fewer rights than its user. */
export type User = Session['user']

export interface SessionOptions {
  /** The address of the service, such as `https://gate.example.com`. */
  url: string
  fetch?: Fetch | undefined
  /** Milliseconds for an answer. Default 2,000. */
  timeout?: number | undefined
}

export interface UserDemands {
  /** `admin`: only admins. */
  role?: 'user' | 'admin' | undefined
  /** Scopes that an access token must have. The session cookie has no scopes: it acts as the user. */
  scope?: string | readonly string[] | undefined
}

export interface Sessions {
  /**
   * The session of a request, as the service knows it now; null when nobody is signed in. Of the request only the bearer
   * token or the session cookie is sent on.
   * @throws UnavailableError when the service does not answer: nobody is taken for signed out by a failure.
   */
  getSession: (request: HeaderSource) => Promise<Session | null>
  /**
   * The same, for a request that needs a user.
   * @throws NotSignedInError (401) and ForbiddenError (403)
   */
  requireUser: (request: HeaderSource, demands?: UserDemands) => Promise<Session>
  /** In a browser: the session of the page's own cookie; null when signed out. */
  currentSession: () => Promise<Session | null>
}

/** Asks the service who is signed in. */
export function createSessions({ url, fetch, timeout = 2_000 }: SessionOptions): Sessions {
  const ask = (init: RequestInit): Promise<Session | null> =>
    send(addressOf(url, '/auth/session'), init, { fetch, timeout }, readSession)
  const getSession = async (request: HeaderSource): Promise<Session | null> => {
    const credential = credentialOf(request)
    return credential === undefined ? null : ask({ headers: { accept: 'application/json', ...credential } })
  }
  return {
    getSession,
    currentSession: () => ask({ credentials: 'include', headers: { accept: 'application/json' } }),
    async requireUser(request, demands = {}) {
      const session = await getSession(request)
      if (session === null) throw errorOf('not-signed-in', 401, { detail: 'No user is signed in.' })
      assertRights(session, request, demands)
      return session
    },
  }
}

async function readSession(response: Response): Promise<Session | null> {
  // 403: an API key, which is valid and nobody's.
  if (response.status === 401 || response.status === 403) {
    await response.body?.cancel()
    return null
  }
  if (response.status !== 200) throw await errorOfResponse(response)
  const session = await readObject<Session>(response)
  if (typeof session.user?.id === 'string') return session
  throw errorOf('unexpected-answer', 502, { detail: 'GET /auth/session did not answer with a user.' })
}

function assertRights({ user, session }: Session, request: HeaderSource, { role, scope }: UserDemands): void {
  if (role === 'admin' && user.role !== 'admin')
    throw errorOf('forbidden', 403, { detail: 'This needs the role admin.' })
  if (scope === undefined || session.kind !== 'token') return
  // The service has just accepted this token, so that its payload needs no second check.
  const held = scopesOf(payloadOf(credentialOf(request)?.['authorization'] ?? ''))
  const missing = [scope].flat().filter((one) => !held.includes(one))
  if (missing.length > 0)
    throw errorOf('insufficient-scope', 403, { detail: `The token lacks the scope ${missing.join(' ')}.` })
}

function payloadOf(authorization: string): { scope?: unknown } {
  try {
    const payload = authorization.split('.')[1] ?? ''
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { scope?: unknown }
  } catch {
    return {}
  }
}
