import type { FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { isBackground } from '../http/access/access.ts'
import type { Authenticate, Principal } from '../http/access/principal.ts'
import type { AccessTokens } from './tokens/access-tokens.ts'
import { type ApiKeys, RefusedKey } from './tokens/api-keys.ts'
import type { HostCookie } from '../http/responses/host-cookie.ts'
import type { NoteRefusal } from './refusals.ts'
import type { SecondFactor } from './sessions/second-factor.ts'
import type { Session } from './sessions/session-lookup.ts'
import type { Sessions } from './sessions/sessions.ts'

const bearer = /^Bearer +([\x21-\x7e]{1,4096})$/i
/** The three parts of a signed JWT; the first one is JSON and therefore begins with `{"`. */
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

interface Credentials {
  keys: ApiKeys
  accessTokens: AccessTokens
  sessions: Sessions
  sessionCookie: HostCookie
  noteRefusal: NoteRefusal
  secondFactor: SecondFactor
}

/** Reads a request's credential: the Authorization header first, then the session cookie. */
export function createAuthenticate({
  keys,
  accessTokens,
  sessions,
  sessionCookie,
  noteRefusal,
  secondFactor,
}: Credentials): Authenticate {
  return async (request: FastifyRequest): Promise<Principal | undefined> => {
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const token = bearer.exec(authorization)?.[1]
      if (!token) {
        throw new Problem('not-signed-in', {
          detail: 'The Authorization header is not of the form `Bearer <credential>`.',
        })
      }
      if (jwt.test(token)) return accessTokens.authenticate(token)
      return keys.authenticate(token).catch(async (error: unknown) => {
        if (error instanceof Problem && error.cause instanceof RefusedKey) {
          const { code, keyId } = error.cause
          const target = keyId === undefined ? undefined : `key:${keyId}`
          await noteRefusal(request, { action: 'key.refused', code, target })
        }
        throw error
      })
    }
    const token = sessionCookie.read(request)
    if (token === undefined) return undefined
    const session = await (isBackground(request) ? sessions.look(token) : sessions.find(token))
    return session && principalOf(session, secondFactor, request.server.basePath)
  }
}

function principalOf(session: Session, secondFactor: SecondFactor, basePath: string): Principal {
  const { id: sessionId, userId, role, provider } = session
  if (secondFactor.isMissing(role, session))
    return {
      kind: 'session',
      role: 'user',
      userId,
      sessionId,
      stepUp: secondFactor.stepUp(basePath, provider),
    }
  return { kind: 'session', role, userId, sessionId }
}
