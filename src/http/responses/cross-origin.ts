import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../errors.ts'
import type { HeaderName } from './response-headers.ts'
import type { App } from '../app.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Says by itself to which origins it answers. */
    ownOrigins?: boolean
  }
}

interface CrossOriginParts {
  /** Origins as browsers write them; compared as whole texts. */
  origins: readonly string[]
  /** Whether their pages may read answers that a cookie authenticates. */
  credentials: boolean
  /** The methods of the routes at an address. */
  methodsOf: (url: string) => string[]
}

/** What scripts may read beside the few headers that they always may (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name). */
const exposed: readonly HeaderName[] = [
  'ETag',
  'Link',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Content-Disposition',
  'Postern-Data-Age',
]
/** What calls may carry beside those that every page may send. */
const accepted = ['Authorization', 'Content-Type', 'If-None-Match']
/** Seconds for which a browser caches the answer to a preflight. */
const maxAge = 600

/**
 * Lets pages of the listed origins read answers (https://fetch.spec.whatwg.org/#http-cors-protocol). To any other origin nothing
 * is said, so that its pages cannot. It is about reading alone: who may write with a cookie the guard decides, which
 * knows no origin but our own (access.ts).
 */
export function allowOrigins(app: FastifyInstance, { origins, credentials }: CrossOriginParts): void {
  if (origins.length === 0) return
  const listed = new Set(origins)
  const exposing = exposed.join(', ')
  app.addHook('onRequest', (request, reply, done) => {
    const { ownOrigins, forMachines } = request.routeOptions.config
    if (ownOrigins !== true && forMachines !== true) {
      // Also where the origin is another one or none: a cache must not give one's answer to another.
      varyBy(reply, 'Origin')
      const { origin } = request.headers
      if (origin !== undefined && listed.has(origin)) {
        reply.header('access-control-allow-origin', origin)
        reply.header('access-control-expose-headers', exposing)
        if (credentials) reply.header('access-control-allow-credentials', 'true')
      }
    }
    done()
  })
}

/**
 * Lets every page read that it called too often, at routes that say by themselves to which origins they answer: a limit refuses a call
 * before they can. The refusal says nothing about anybody. Without this, a page could not tell it from a broken network.
 */
export function showLimitsToPages(app: FastifyInstance): void {
  app.addHook('onError', (request, reply, error, done) => {
    const isLimit = error instanceof Problem && error.code === 'too-many-requests'
    if (isLimit && request.routeOptions.config.ownOrigins === true) {
      if (!reply.hasHeader('access-control-allow-origin')) reply.header('access-control-allow-origin', '*')
      reply.header('access-control-expose-headers', 'Retry-After')
    }
    done()
  })
}

/** Answers preflights of the listed origins. Comes behind the limits: such calls count, too. */
export function answerPreflights(app: FastifyInstance, { origins, methodsOf }: CrossOriginParts): void {
  if (origins.length === 0) return
  app.addHook('onRequest', (request, reply, done) => {
    const methods = isPreflight(request, reply) ? methodsOf(request.url) : []
    if (methods.length === 0) return done()
    varyBy(reply, 'Access-Control-Request-Method', 'Access-Control-Request-Headers')
    void reply
      .headers({
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers': accepted.join(', '),
        'access-control-max-age': String(maxAge),
      })
      .code(204)
      .send()
  })
}

/** Whether it is one, of an origin that was found listed before, for a route that leaves it to us. */
function isPreflight({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  return (
    method === 'OPTIONS' &&
    headers['access-control-request-method'] !== undefined &&
    reply.hasHeader('access-control-allow-origin')
  )
}

/** Adds to the header Vary (RFC 9110, section 12.5.5) what is not in it yet. */
export function varyBy(reply: FastifyReply, ...names: string[]): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? names.join(', ') : [String(before), ...names].join(', '))
}

/** What pages of other origins may send to a path. */
interface PreflightAnswer {
  /** As in `Access-Control-Allow-Methods`. */
  methods: string
  /** As in `Access-Control-Allow-Headers`. `*` has no effect on `Authorization`. */
  headers: string
  /** The origin that is allowed; `undefined` if a hook of the routes says it. */
  origin?: '*'
}

/** Answers the preflights of a path whose routes have `ownOrigins` (https://fetch.spec.whatwg.org/#cors-preflight-fetch). */
export function preflightRoute(
  routes: App,
  path: string,
  { methods, headers, origin }: PreflightAnswer,
): void {
  routes.options(
    path,
    { config: { access: 'public', ownOrigins: true }, schema: { hide: true } },
    async (_request, reply) =>
      reply
        .headers({
          ...(origin !== undefined && { 'access-control-allow-origin': origin }),
          'access-control-allow-methods': methods,
          'access-control-allow-headers': headers,
          'access-control-max-age': String(maxAge),
        })
        .code(204)
        .send(),
  )
}

/** The config of the route of a document that caches may keep, and pages of any origin may read. */
export const publicDocument = {
  access: 'public',
  ownOrigins: true,
  sends: { always: ['Cache-Control', 'Access-Control-Allow-Origin'] },
} as const

/** The headers of such a document, beside `Cache-Control`. */
export const publicDocumentHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** Answers the preflights of its path. MCP clients send `MCP-Protocol-Version` with such a call. */
export function publicDocumentPreflights(routes: App, path: string): void {
  preflightRoute(routes, path, { methods: 'GET', headers: '*, authorization', origin: '*' })
}
