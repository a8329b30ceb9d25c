import { Type } from 'typebox'
import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { ofLimits } from '../http/response-headers.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Acceptor } from './acceptor.ts'
import { answerWebhooks, noteUnread, refuseSignature, sendReply, type Outcome } from './answers.ts'
import type { Backlog } from './backlog.ts'
import { DirectWebhooks } from './direct.ts'
import { createEvaluator, type Evaluate } from './evaluate.ts'
import type { PlanOf } from './plan.ts'
import type { NoteRejected, RejectedLog } from './rejections/log.ts'
import { reasonOf, reasons } from './rejections/reasons.ts'
import type { Scheme } from './schemes/scheme.ts'
import type { SharedSourceRateParts } from './shared-source-rate.ts'

export interface WebhookParts {
  sources: ReadonlyMap<string, Scheme>
  acceptor: Acceptor
  backlog: Backlog
  planOf: PlanOf
  configuration: Configuration
  clock: Clock
  metrics: Metrics
  rejected: RejectedLog
  /** Where several processes share the rates of sources. */
  sharedRates: SharedSourceRateParts | undefined
}

type Ask = NonNullable<Scheme['ask']>
type Outcomes = ReturnType<Metrics['counter']>

/** Requests that one address may make in a minute: senders deliver in bursts, and each is verified anyway. */
const requestsPerMinute = 60_000
const anyType = { 'content-type': 'application/octet-stream' } as const
const Received = Type.Object(
  { received: Type.Literal(true) },
  { description: 'The event is stored durably; it is processed once, however often it comes.' },
)

const Unauthorized = {
  description: 'The signature is missing or wrong; nothing is stored.',
  content: { 'text/plain': { schema: Type.Literal('invalid signature') } },
}

const Answer = {
  description: 'What the sender wants to be answered.',
  content: { 'text/plain': { schema: Type.String() }, 'application/json': { schema: Type.Unknown() } },
}

/** Declares `POST /webhooks/{source}` for every source, and GET for sources whose senders verify the address by a challenge. */
export async function webhookRoutes(app: App, parts: WebhookParts): Promise<void> {
  const outcomes = parts.metrics.counter(
    'postern_webhooks_total',
    `Webhooks by source and outcome: accepted, answered, ${Object.keys(reasons).join(', ')}`,
    ['source', 'outcome'],
  )
  const direct = new DirectWebhooks()
  await app.register(async (scope) => {
    readRawBodies(scope, parts.configuration.bodyLimit)
    for (const [source, scheme] of parts.sources) {
      const endpoint = endpointOf(source, scheme, parts, outcomes)
      answerDirectly(app, direct, endpoint, parts)
      declareWebhook(scope, direct, endpoint, parts)
      if (scheme.ask) declareChallenge(scope, scheme.ask, endpoint, parts.clock)
    }
  })
}

/** What all ways to answer a source's requests share. */
interface Endpoint {
  readonly target: string
  readonly source: string
  readonly scheme: Scheme
  readonly evaluate: Evaluate
  readonly count: (outcome: Outcome) => void
  readonly reject: NoteRejected
}

function endpointOf(source: string, scheme: Scheme, parts: WebhookParts, outcomes: Outcomes): Endpoint {
  const note = parts.rejected.of(source, scheme.signatureHeader)
  // The labels of the most frequent outcome are looked up once.
  const accepted = outcomes.labels({ source, outcome: 'accepted' satisfies Outcome })
  const count = (outcome: Outcome): void => {
    if (outcome === 'accepted') accepted.inc()
    else outcomes.inc({ source, outcome })
  }
  const reject: NoteRejected = (reason, detail, request, body) => {
    count(reason)
    note(reason, detail, request, body)
    request.log.debug({ source, reason, detail }, 'webhook rejected')
  }
  const evaluate = createEvaluator(source, scheme, parts)
  return { target: `/webhooks/${source}`, source, scheme, evaluate, count, reject }
}

/** Makes the bodies of a scope the bytes that arrived, whatever their type. */
function readRawBodies(scope: App, bodyLimit: number): void {
  scope.removeAllContentTypeParsers()
  // All media types are read, so that a body that is too large is refused for its size before its type.
  // JSON is listed as well, because Fastify finds listed types without parsing them.
  scope.bodies.parse(
    scope,
    ['application/json', '*'],
    (_request, bytes, done) => done(null, bytes),
    bodyLimit,
  )
  // Fastify refuses an invalid media type before it reads the body, but the signature must be checked first.
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.headers['content-type'] !== 'application/json') request.headers = anyType
    done()
  })
}

/** Answers valid webhooks before Fastify sees them (docs/adr/0013), where that is possible. */
function answerDirectly(app: App, direct: DirectWebhooks, endpoint: Endpoint, parts: WebhookParts): void {
  const { baseUrl, trustedProxies, bodyLimit } = parts.configuration
  // Behind proxies the called address is in their headers, which Fastify reads.
  if (baseUrl === undefined && trustedProxies.length > 0) return
  // At debug level each request is logged, which only the ordinary way does.
  if (app.log.isLevelEnabled?.('debug')) return
  const { target, evaluate, count } = endpoint
  const answer = direct.answer({
    target,
    perMinute: requestsPerMinute,
    bodyLimit,
    evaluate,
    acceptor: parts.acceptor,
    limits: app.limits,
    bodies: app.bodies,
    originOf: (request) => baseUrl ?? `http://${request.headers.host ?? ''}`,
    log: app.log,
    headers: app.securityHeaders.common,
    accepted: () => count('accepted'),
  })
  app.direct.post(target, answer)
}

function declareWebhook(scope: App, direct: DirectWebhooks, endpoint: Endpoint, parts: WebhookParts): void {
  const { target, source, scheme, evaluate, count, reject } = endpoint
  const { acceptor, configuration } = parts
  scope.post(
    target,
    {
      bodyLimit: configuration.bodyLimit,
      onError: async (request, _reply, error) => noteUnread(request, error, reject),
      config: {
        access: 'public',
        quiet: true,
        forMachines: true,
        rateLimit: { max: requestsPerMinute },
        // A source's own rate is sent even if other rate limits are off.
        ...(scheme.rateLimit !== undefined && { sends: { sometimes: ofLimits } }),
      },
      schema: {
        tags: ['receiving'],
        summary: `Receive a webhook of the source ${source} (${scheme.name})`,
        description:
          'The signature is checked over the raw body. A missing or wrong one is answered with 401 and the text `invalid signature`.',
        response: { 200: Received, 401: Unauthorized },
      },
    },
    answerWebhooks({
      evaluate,
      foundOf: (request) => direct.foundOf(request),
      acceptor,
      originOf: (request) => configuration.baseUrl ?? `${request.protocol}://${request.host}`,
      count,
      reject,
    }),
  )
}

function declareChallenge(scope: App, ask: Ask, endpoint: Endpoint, clock: Clock): void {
  const { target, source, scheme, count, reject } = endpoint
  scope.get(
    target,
    {
      config: { access: 'public', quiet: true, forMachines: true },
      schema: {
        tags: ['receiving'],
        summary: `Answer a question of the source ${source} (${scheme.name})`,
        description: 'The sender makes sure of the address before it sends to it.',
        response: { 200: Answer, 401: Unauthorized },
      },
    },
    async (request, reply) => {
      const query = new URLSearchParams(/\?(.*)$/s.exec(request.raw.url ?? '')?.[1])
      const result = ask({ query, headers: request.raw.headers, now: clock.now() })
      if ('answer' in result) {
        count('answered')
        return sendReply(reply, result.answer)
      }
      reject(reasonOf(result), result.detail, request)
      if (result.rejected === 'malformed') throw new Problem('bad-request', { detail: result.detail })
      return refuseSignature(reply)
    },
  )
}
