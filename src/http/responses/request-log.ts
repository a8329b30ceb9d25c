import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { clientIp } from '../limits/client-address.ts'

/**
 * One line per answered request. It names the route and not the address: query strings and paths may hold codes and
 * tokens. The line of a refusal names the client's address and whose credential it was, as far as that is known, and never the
 * credential itself. Routes that are called all day (`config.quiet`) are logged at debug level unless they fail.
 */
export function logRequests(app: App): void {
  app.addHook('onResponse', (request, reply, done) => {
    const level = request.routeOptions.config.quiet === true && reply.statusCode < 400 ? 'debug' : 'info'
    request.log[level](
      {
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        ...(reply.statusCode >= 400 && callerOf(request)),
      },
      'request',
    )
    done()
  })
}

/** Who made a call; ids only. */
function callerOf(request: FastifyRequest): Record<string, string | undefined> {
  const { kind, userId, sessionId, keyId, clientId, owner } = request.principal ?? {}
  return { address: clientIp(request), credential: kind, userId, sessionId, keyId, clientId, owner }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Logged at debug level while it succeeds. */
    quiet?: boolean
  }
}
