import type { FastifyInstance, FastifyReply } from 'fastify'

/** No inline script or style, nothing from elsewhere, no frames. Pages that need more say so themselves. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join(';')

/**
 * The headers that every answer has (OWASP's list for services with few pages). They are the same for all, so they are
 * made once: building them for each request cost more than reading a page of a list.
 */
export function securityHeaders({ https }: { https: boolean }): (reply: FastifyReply) => void {
  const headers = Object.entries({
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  })
  return (reply) => {
    for (const [name, value] of headers) reply.header(name, value)
  }
}

/** Puts them on every answer: before any other hook, since that may answer itself. */
export function addSecurityHeaders(app: FastifyInstance, protect: (reply: FastifyReply) => void): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.forMachines !== true) protect(reply)
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called by programs only, and often: answered without the headers that speak to browsers. */
    forMachines?: boolean
  }
}
