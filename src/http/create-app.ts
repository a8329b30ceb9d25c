import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { randomUUID } from 'node:crypto'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { App } from './app.ts'
import { guardRoutes, type NoteForbidden, type NoteForeignCall } from './access/access.ts'
import { compileSerializer, compileValidator } from './schemas/schema-compilers.ts'
import {
  addSecurityHeaders,
  securityHeaders,
  type SecurityHeaders,
  RouteMethods,
} from './responses/response-headers.ts'
import { type DashboardParts, serveAssets, serveDashboard, serveBuiltFiles } from './pages/built-pages.ts'
import { showImpersonations } from './pages/impersonation-banner.ts'
import { serveBrand } from './pages/brand.ts'
import { rememberLanguages } from './pages/page-view.ts'
import { bodyLimits, type BodyLimits } from './body/budget.ts'
import { BodyReader, defaultBodyLimit, IncomingRequest } from './body/reader.ts'
import { TrustedProxies, clientIp } from './limits/client-address.ts'
import {
  clientErrorAnswerer,
  closeAfterUpgradeRequests,
  refuseFramingFaults,
  ServiceOutage,
} from './connections/client-errors.ts'
import { Closing } from './connections/closing.ts'
import { allowOrigins, answerPreflights, showLimitsToPages } from './responses/cross-origin.ts'
import { serveGuide } from './guide/routes.ts'
import { describeRoutes, docsAccess } from './schemas/openapi.ts'
import type { Authenticate } from './access/principal.ts'
import { answerProblems, ProblemLog, sendProblem, toProblem } from './responses/problem-details.ts'
import { parseQueryString } from './requests/parameters.ts'
import { limitRequests } from './limits/rate-limits.ts'
import { serveReference } from './reference/page.ts'
import { RawRoutes } from './raw/routes.ts'
import type { Log } from '../telemetry/log.ts'
import { type CountCalls, SharedRateLimiter } from './limits/rate-limiter.ts'
import { Problem } from '../errors.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

interface AppParts {
  configuration: Configuration
  log: Log
  clock: Clock
  authenticate: Authenticate
  /** The answer of GET /auth/session, for the page of the dashboard. @throws Problem `not-signed-in` */
  describeSession: DashboardParts['describeSession']
  /** For the pages' banner, while an admin acts for a user in the request's browser. */
  shownImpersonation: Parameters<typeof showImpersonations>[1]
  /** Authenticates callers of the portal; without it, the portal is closed. */
  authenticatePortal?: Authenticate
  noteForeignCall?: NoteForeignCall
  noteForbidden?: NoteForbidden
  /** The public address. If PORT is 0, it is known once the server listens. */
  baseUrl: () => string
  timeouts?: Timeouts | undefined
  bodies?: Partial<BodyLimits> | undefined
  /** Counts calls of all processes; without it, this process counts alone. */
  countCalls?: CountCalls | undefined
}

/** Time limits for clients, in milliseconds. */
export interface Timeouts {
  /** For the headers of a request. */
  headers: number
  /** For a whole request. */
  request: number
  /** Between two checks of these limits. */
  check: number
  /** For a connection without any transfer during a request, for example because the client does not read the answer. */
  stillness: number
}

const defaultTimeouts: Timeouts = { headers: 10_000, request: 30_000, check: 1_000, stillness: 90_000 }

declare module 'fastify' {
  interface FastifyInstance {
    routeMethods: RouteMethods
    problemLog: ProblemLog
  }
}

/** Creates the application with everything that all routes share. Routes are then declared on it. */
export async function createApp(parts: AppParts): Promise<App> {
  const { configuration } = parts
  const headers = securityHeaders({ https: (configuration.baseUrl ?? '').startsWith('https:') })
  const app = createServer(parts, headers)
  const proxies = new TrustedProxies(configuration.trustedProxies)
  app.decorate('basePath', configuration.basePath)
  closeAfterUpgradeRequests(app)
  app.decorate('closing', new Closing(app))
  continueLate(app)
  readBodies(app, parts, proxies)
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  const methods = new RouteMethods()
  app.addHook('onRoute', (route) => methods.add(route))
  app.decorate('routeMethods', methods)
  const problemLog = new ProblemLog(parts.clock)
  app.decorate('problemLog', problemLog)
  addHooks(app, { ...parts, problemLog }, headers, proxies)
  answerProblems(app, (url) => methods.allowedFor(url), headers.protect, problemLog)
  logRequests(app)
  showImpersonations(app, parts.shownImpersonation)
  await describeRoutes(app, {
    demo: configuration.demo,
    limited: configuration.rateLimit,
    crossOrigin: configuration.corsOrigins.length > 0,
    basePath: configuration.basePath,
  })
  serveBrand(app, configuration)
  rememberLanguages(app, parts.baseUrl)
  serveAssets(app)
  serveReference(app, { access: docsAccess(configuration), baseUrl: parts.baseUrl })
  serveGuide(app, docsAccess(configuration))
  serveBuiltFiles(app)
  serveDashboard(app, { ...parts, demo: configuration.demo })
  return app
}

function createServer(
  { configuration, log, timeouts = defaultTimeouts }: AppParts,
  headers: SecurityHeaders,
): App {
  // Otherwise Fastify would expect pino's type for the logger of each request.
  const logger: FastifyBaseLogger = log
  return Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    trustProxy: configuration.trustedProxies.length > 0 ? configuration.trustedProxies : false,
    bodyLimit: defaultBodyLimit,
    connectionTimeout: timeouts.stillness,
    requestTimeout: timeouts.request,
    http: {
      IncomingMessage: IncomingRequest,
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: timeouts.check,
      maxHeaderSize: 16 * 1024,
      // Node's own answer would lack the headers of every answer; client-errors.ts checks the header.
      requireHostHeader: false,
    },
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { querystringParser: readQuery, maxParamLength: 512 },
    clientErrorHandler: clientErrorAnswerer(headers.common, configuration.basePath),
    frameworkErrors: (error, _request, reply) => {
      // No hook has run for these.
      headers.protect(reply)
      void sendProblem(reply, toProblem(error))
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
}

/** Most requests have no query. */
const readQuery = (text: string): Record<string, string> =>
  text === '' ? (Object.create(null) as Record<string, string>) : parseQueryString(text)

/** Bodies are JSON, unless a scope declares other types. */
function readBodies(app: App, { configuration, clock, bodies }: AppParts, proxies: TrustedProxies): void {
  // Fastify's parser of text would make a body of the wrong type from a body that is not declared as JSON.
  app.removeContentTypeParser(['text/plain', 'application/json'])
  const reader = new BodyReader(app, {
    clock,
    networkOf: (request) => proxies.networkOf(request),
    limits: bodyLimitsFor(configuration.bodyLimit, bodies),
  })
  app.decorate('bodies', reader)
  const parseJson = app.getDefaultJsonParser('error', 'error')
  reader.parse(app, ['application/json'], (request, bytes, done) => {
    void parseJson(request, bytes.toString(), done)
  })
  app.addHook('onRoute', (route) => {
    if (route.config?.optionalBody) route.preValidation = useEmptyBody
  })
}

async function useEmptyBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}

/** The limits of a body budget that has room for several webhooks of the greatest size. */
function bodyLimitsFor(bodyLimit: number, limits: Partial<BodyLimits> = {}): Partial<BodyLimits> {
  const least = 4 * bodyLimit
  return least > bodyLimits.bytes ? { bytes: least, reserve: least / 4, ...limits } : limits
}

/** What runs before the handler of each request, in this order. */
function addHooks(
  app: App,
  parts: AppParts & { problemLog: ProblemLog },
  headers: SecurityHeaders,
  proxies: TrustedProxies,
): void {
  const {
    configuration,
    log,
    clock,
    problemLog,
    authenticatePortal = async () => undefined,
    countCalls,
  } = parts
  addSecurityHeaders(app, headers)
  app.decorate('outage', new ServiceOutage(app))
  refuseFramingFaults(app)
  const crossOrigin = {
    origins: configuration.corsOrigins,
    credentials: configuration.corsCredentials,
    methodsOf: (url: string) => app.routeMethods.forPages(url),
  }
  allowOrigins(app, crossOrigin)
  showLimitsToPages(app)
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'rate limits could not be shared between processes: this process counts alone')
  const limits = limitRequests(app, {
    clock: configuration.rateLimit ? clock : undefined,
    proxies,
    shared: countCalls && new SharedRateLimiter({ count: countCalls, clock, onError }),
  })
  answerPreflights(app, crossOrigin)
  guardRoutes(app, {
    authenticate: parts.authenticate,
    authenticatePortal,
    limits,
    baseUrl: parts.baseUrl,
    demo: configuration.demo,
    noteForeignCall: parts.noteForeignCall,
    noteForbidden: parts.noteForbidden,
  })
  refuseUnstorablePaths(app)
  const { bodies, basePath } = app
  const raw = { log, limits, bodies, proxies, headers: headers.common, basePath, problemLog }
  app.decorate('raw', new RawRoutes(app, raw))
}

/**
 * Answers with 404 if a parameter of the path contains U+0000: PostgreSQL refuses it as a value, and no id or name contains one. A
 * path cannot contain a lone surrogate, because its percent sequences must be UTF-8. Callers without access are rejected earlier.
 */
function refuseUnstorablePaths(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    for (const value of Object.values(request.params as Record<string, string>))
      if (value.includes('\0')) return done(new Problem('not-found') as never)
    done()
  })
}

declare module 'http' {
  interface IncomingMessage {
    /** Set if the client waits for the status 100 before it sends the body: call it before the body is read. */
    sendContinue?: () => void
  }
}

/**
 * Handles requests with `Expect: 100-continue` (RFC 9110, section 10.1.1). Node would answer all of them with 100 before anything
 * is known. Here they get it when their body is about to be read, so that a body that is rejected for its length, its credentials
 * or a lack of memory is never sent.
 */
function continueLate({ server, closing }: Pick<FastifyInstance, 'server' | 'closing'>): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.sendContinue = () => {
      if (response.headersSent) return
      if (request.headers.upgrade === undefined && !closing.begun) response.removeHeader('connection')
      response.writeContinue()
    }
    // Without the 100, the server cannot know whether the body follows the answer.
    response.setHeader('connection', 'close')
    server.emit('request', request, response)
  })
  // Other expectations may be ignored. Node would answer 417 by itself, without the headers of other answers.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response)
  })
}

/**
 * One line per answered request. It names the route and not the address: query strings and paths may hold codes and
 * tokens. The line of a refusal names the client's address and whose credential it was, as far as that is known, and never the
 * credential itself. Routes that are called all day (`config.quiet`) are logged at debug level unless they fail.
 */
function logRequests(app: App): void {
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
