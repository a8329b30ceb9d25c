import type { FastifyInstance, FastifyReply } from 'fastify'

/** No inline script or style, nothing from elsewhere, no frames. Pages that need more say so themselves. */
const contentSecurityPolicy = policyWith("frame-ancestors 'none'")

function policyWith(frameAncestors: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    frameAncestors,
    "base-uri 'none'",
  ].join(';')
}

/** The headers of a page that pages of these origins, and no others, may show in a frame. */
export function framedBy(origins: readonly string[]): Record<string, string> {
  if (origins.length === 0) return {}
  return {
    'content-security-policy': policyWith(`frame-ancestors ${origins.join(' ')}`),
    // Pages that are isolated (Cross-Origin-Embedder-Policy) load a frame of another origin only with this.
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/** The policy of answers that hold nothing for a browser to load. No page of another origin can frame them either. */
const nothing = "default-src 'none';frame-ancestors 'none'"

/**
 * The headers of every answer (OWASP's list for services with few pages). They are constant, so they are created once: building
 * them for each request cost more than reading a page of a list.
 */
export interface SecurityHeaders {
  /**
   * The headers of every answer, including raw routes, as a flat list of names and values. A handler whose answers may be stored
   * sets `Cache-Control` itself.
   */
  readonly common: readonly string[]
  /** Adds the common headers to an answer, and those for browsers unless it is for machines. */
  readonly protect: (reply: FastifyReply, forMachines?: boolean) => void
}

export function securityHeaders({ https }: { https: boolean }): SecurityHeaders {
  const forAll = Object.entries({
    'cache-control': 'no-store',
    'content-security-policy': nothing,
    'x-content-type-options': 'nosniff',
    ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  })
  const forBrowsers = Object.entries({
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  })
  // Of two values with one name the second one counts.
  const all = [...new Map([...forAll, ...forBrowsers])]
  return {
    common: forAll.flat(),
    protect(reply, forMachines = false) {
      for (const [name, value] of forMachines ? forAll : all) reply.header(name, value)
    },
  }
}

/** Adds them to every answer, before any other hook, because hooks may answer. */
export function addSecurityHeaders(app: FastifyInstance, headers: SecurityHeaders): void {
  app.decorate('securityHeaders', headers)
  app.addHook('onRequest', (request, reply, done) => {
    headers.protect(reply, request.routeOptions.config.forMachines)
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called by programs only, and often: answered without the headers for browsers. */
    forMachines?: boolean
  }
  interface FastifyInstance {
    securityHeaders: SecurityHeaders
  }
}
