import type { App } from './app.ts'

/**
 * One line per answered request. It names the route and not the address: query strings and paths may hold codes and
 * tokens. Routes that are called all day (`config.quiet`) are logged at debug level unless they fail.
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
      },
      'request',
    )
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Logged at debug level while it succeeds. */
    quiet?: boolean
  }
}
