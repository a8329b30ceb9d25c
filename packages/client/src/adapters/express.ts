import type { HeaderSource } from '../http.ts'
import type { Sessions, UserDemands } from '../session/sessions.ts'
import type { TokenDemands, Verifier } from '../tokens/verifier.ts'
import { refusalOf, remember, tokenGuard, userGuard } from './guards.ts'

export { claimsOf, sessionOf } from './guards.ts'

type Request = HeaderSource & object
/** Node's own part of an Express response, so that it also serves connect and plain servers. */
interface Response {
  writeHead(status: number, headers: Record<string, string>): { end(body: string): unknown }
}
type Middleware = (request: Request, response: Response, next: (error?: unknown) => void) => void

/** Lets signed-in users through; `sessionOf(request)` then gives the session. */
export function requireUser(sessions: Pick<Sessions, 'requireUser'>, demands?: UserDemands): Middleware {
  const guard = userGuard(sessions, demands)
  return middleware(async (request) => remember(request, { session: await guard(request) }))
}

/** Lets valid access tokens through; `claimsOf(request)` then gives the claims. */
export function requireToken(verifier: Verifier, demands?: TokenDemands): Middleware {
  const guard = tokenGuard(verifier, demands)
  return middleware(async (request) => remember(request, { claims: await guard(request) }))
}

function middleware(check: (request: Request) => Promise<void>): Middleware {
  return (request, response, next) => void run(check, request, response, next)
}

async function run(
  check: (request: Request) => Promise<void>,
  ...[request, response, next]: Parameters<Middleware>
): Promise<void> {
  let fault: unknown
  try {
    await check(request)
  } catch (error) {
    try {
      const { status, headers, body } = refusalOf(error)
      response.writeHead(status, headers).end(body)
      return
    } catch (other) {
      fault = other
    }
  }
  next(fault)
}
