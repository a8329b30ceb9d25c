import type { HeaderSource } from '../http.ts'
import type { Sessions, UserDemands } from '../session/sessions.ts'
import type { TokenDemands, Verifier } from '../tokens/verifier.ts'
import { refusalOf, remember, tokenGuard, userGuard } from './guards.ts'

export { claimsOf, sessionOf } from './guards.ts'

type Request = HeaderSource & object
interface Reply {
  code(status: number): Reply
  headers(values: Record<string, string>): Reply
  send(body: string): unknown
}
/** A hook `onRequest` of Fastify. */
type Hook = (request: Request, reply: Reply) => Promise<unknown>

/** Lets signed-in users through; `sessionOf(request)` then gives the session. */
export function requireUser(sessions: Pick<Sessions, 'requireUser'>, demands?: UserDemands): Hook {
  const guard = userGuard(sessions, demands)
  return hook(async (request) => remember(request, { session: await guard(request) }))
}

/** Lets valid access tokens through; `claimsOf(request)` then gives the claims. */
export function requireToken(verifier: Verifier, demands?: TokenDemands): Hook {
  const guard = tokenGuard(verifier, demands)
  return hook(async (request) => remember(request, { claims: await guard(request) }))
}

function hook(check: (request: Request) => Promise<void>): Hook {
  return async (request, reply) => {
    try {
      return await check(request)
    } catch (error) {
      const { status, headers, body } = refusalOf(error)
      return reply.code(status).headers(headers).send(body)
    }
  }
}
