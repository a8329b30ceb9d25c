import type { FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import type { Authenticate, Principal } from '../http/principal.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { ApiKeys } from './api-keys.ts'
import type { HostCookie } from './host-cookie.ts'
import type { Sessions } from './sessions.ts'

const bearer = /^Bearer +([\x21-\x7e]{1,4096})$/i
/** The three parts of a signed JWT; the first one is JSON and therefore begins with `{"`. */
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

export interface Credentials {
  keys: ApiKeys
  accessTokens: AccessTokens
  sessions: Sessions
  cookie: HostCookie
}

/** Reads a request's credential: the Authorization header first, then the session cookie. */
export function createAuthenticate({ keys, accessTokens, sessions, cookie }: Credentials): Authenticate {
  return async (request: FastifyRequest): Promise<Principal | undefined> => {
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const token = bearer.exec(authorization)?.[1]
      if (!token) {
        throw new Problem('not-signed-in', {
          detail: 'The Authorization header is not of the form `Bearer <credential>`.',
        })
      }
      return jwt.test(token) ? accessTokens.authenticate(token) : keys.authenticate(token)
    }
    const token = cookie.read(request)
    const session = token === undefined ? undefined : await sessions.find(token)
    return session && { kind: 'session', role: session.role, userId: session.userId, sessionId: session.id }
  }
}
