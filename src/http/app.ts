import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { randomUUID } from 'node:crypto'
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import { guardRoutes, type NoteForbidden, type NoteForeignCall } from './access.ts'
import { compileSerializer, compileValidator } from './schema-compilers.ts'
import { addSecurityHeaders, securityHeaders } from './security-headers.ts'
import { serveAssets } from './assets.ts'
import { bodyLimits, type BodyLimits } from './body-budget.ts'
import { TrustedProxies } from './client-address.ts'
import { BodyReader, defaultBodyLimit } from './body-reader.ts'
import { clientErrorAnswerer } from './client-errors.ts'
import { Closing } from './closing.ts'
import { continueLate } from './expect-continue.ts'
import { refuseFramingFaults } from './framing.ts'
import { IncomingRequest } from './incoming-request.ts'
import { allowOrigins, answerPreflights } from './cross-origin.ts'
import { RouteMethods } from './methods.ts'
import { serveDashboard } from './dashboard.ts'
import { Refusal } from './refusal.ts'
import { describeRoutes, docsAccess } from './openapi.ts'
import type { Authenticate } from './principal.ts'
import { answerProblems, sendProblem, toProblem } from './problem-details.ts'
import { parseQueryString } from './query-string.ts'
import { logRequests } from './request-log.ts'
import { closeAfterUpgradeRequests } from './upgrades.ts'
import { limitRequests } from './rate-limits.ts'
import { RawRoutes } from './raw/routes.ts'
import type { Log } from '../telemetry/log.ts'
import { SharedCounts, type CountCalls } from './shared-counts.ts'

/** The Fastify application that every room declares its routes on. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export interface AppParts {
  configuration: Configuration
  log: Log
  clock: Clock
  authenticate: Authenticate
  /** Of the portal; without one nobody is let in there. */
  authenticatePortal?: Authenticate
  noteForeignCall?: NoteForeignCall
  noteForbidden?: NoteForbidden
  /** The public origin; known only once the server listens when PORT is 0. */
  baseUrl: () => string
  timeouts?: Timeouts | undefined
  bodies?: Partial<BodyLimits> | undefined
  /** Counts calls in all processes together; without it, this one is alone. */
  countCalls?: CountCalls | undefined
}

/**
 * How long a sender may take, in milliseconds: for its headers, for the whole request; how often that is checked; and how
 * long a connection with a request under way may stand still, as it does when the answer is not read.
 */
export interface Timeouts {
  headers: number
  request: number
  check: number
  stillness: number
}

const defaultTimeouts: Timeouts = { headers: 10_000, request: 30_000, check: 1_000, stillness: 90_000 }

declare module 'fastify' {
  interface FastifyInstance {
    routeMethods: RouteMethods
  }
}

/** Builds the application with everything that all routes share. Routes are then declared on it. */
export async function createApp(parts: AppParts): Promise<App> {
  const {
    configuration,
    log,
    clock,
    authenticate,
    authenticatePortal = async () => undefined,
    noteForeignCall,
    noteForbidden,
    baseUrl,
    timeouts = defaultTimeouts,
  } = parts
  const methods = new RouteMethods()
  const headers = securityHeaders({ https: (configuration.baseUrl ?? '').startsWith('https:') })
  const { protect } = headers
  // As this type, since Fastify would take pino's for the type of every logger.
  const logger: FastifyBaseLogger = log
  const app: App = Fastify({
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
      // Node would answer by itself, past everything that holds for answers (framing.ts).
      requireHostHeader: false,
    },
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { querystringParser: parseQueryString, maxParamLength: 512 },
    clientErrorHandler: clientErrorAnswerer(headers.common),
    // No hook has run for these.
    frameworkErrors: (error, _request, reply) => {
      protect(reply)
      void sendProblem(reply, toProblem(error))
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  const proxies = new TrustedProxies(configuration.trustedProxies)
  closeAfterUpgradeRequests(app)
  app.decorate('closing', new Closing(app))
  continueLate(app)
  // Bodies are JSON; a scope that takes other types says so itself. Fastify's own reader of texts would turn what is
  // no JSON by its type into a body of the wrong form.
  app.removeContentTypeParser(['text/plain', 'application/json'])
  const bodies = new BodyReader(app, {
    clock,
    networkOf: (request) => proxies.networkOf(request),
    limits: roomFor(configuration.bodyLimit, parts.bodies),
  })
  app.decorate('bodies', bodies)
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.bodies.parse(app, ['application/json'], (request, bytes, done) => {
    void parseJson(request, bytes.toString(), done)
  })
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  app.addHook('onRoute', (route) => methods.add(route))
  app.decorate('routeMethods', methods)
  addSecurityHeaders(app, headers)
  app.decorate('refusal', new Refusal(app))
  refuseFramingFaults(app)
  const crossOrigin = {
    origins: configuration.corsOrigins,
    credentials: configuration.corsCredentials,
    methodsOf: (url: string) => methods.forPages(url),
  }
  allowOrigins(app, crossOrigin)
  const limits = limitRequests(app, {
    clock: configuration.rateLimit ? clock : undefined,
    proxies,
    shared:
      parts.countCalls &&
      new SharedCounts({
        count: parts.countCalls,
        clock,
        onError: (error) =>
          log.warn(
            { err: error },
            'calls could not be counted for all processes together, so this one counts alone',
          ),
      }),
  })
  app.decorate('raw', new RawRoutes(app, { log, limits, bodies, proxies, headers: headers.common }))
  answerPreflights(app, crossOrigin)
  guardRoutes(app, {
    authenticate,
    authenticatePortal,
    limits,
    origin: baseUrl,
    demo: configuration.demo,
    noteForeignCall,
    noteForbidden,
  })
  answerProblems(app, (url) => methods.allowedFor(url), protect)

  logRequests(app)
  await describeRoutes(app, {
    demo: configuration.demo,
    limited: configuration.rateLimit,
    crossOrigin: configuration.corsOrigins.length > 0,
  })
  await serveAssets(app, docsAccess(configuration))
  serveDashboard(app, authenticate)
  return app
}

/** Whatever the limit of a webhook's body is, several of that size can be read at once. */
function roomFor(bodyLimit: number, limits: Partial<BodyLimits> = {}): Partial<BodyLimits> {
  const least = 4 * bodyLimit
  return least > bodyLimits.bytes ? { bytes: least, reserve: least / 4, ...limits } : limits
}
