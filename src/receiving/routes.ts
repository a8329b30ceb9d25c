import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
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
import { createEvaluator } from './evaluate.ts'
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

/** `POST /webhooks/{source}` for every source, and GET for those that are asked by it, in a scope whose bodies stay the bytes that came. */
export async function webhookRoutes(app: App, parts: WebhookParts): Promise<void> {
  const { acceptor, configuration, metrics } = parts
  const bodyLimit = configuration.bodyLimit
  const outcomes = metrics.counter(
    'postern_webhooks_total',
    `Webhooks by source and outcome: accepted, answered, ${Object.keys(reasons).join(', ')}`,
    ['source', 'outcome'],
  )

  const { baseUrl, trustedProxies } = configuration
  const originOf = (request: FastifyRequest): string => baseUrl ?? `${request.protocol}://${request.host}`
  // Behind proxies the address that was called is in their headers, which the framework reads.
  const originBefore =
    baseUrl !== undefined || trustedProxies.length === 0
      ? (request: IncomingMessage): string => baseUrl ?? `http://${request.headers.host ?? ''}`
      : undefined
  const direct = new DirectWebhooks()

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Every media type is read, so that a body that is too large is told so before its type matters.
    // JSON is named as well, since named types are found without being parsed.
    scope.bodies.parse(
      scope,
      ['application/json', '*'],
      (_request, bytes, done) => done(null, bytes),
      bodyLimit,
    )
    // A type that is none would be refused before the body is read, and the signature is to be checked first.
    scope.addHook('onRequest', (request, _reply, done) => {
      if (request.raw.headers['content-type'] !== 'application/json') request.headers = anyType
      done()
    })
    for (const [source, scheme] of parts.sources) {
      const note = parts.rejected.of(source, scheme.signatureHeader)
      const count = (outcome: Outcome): void => outcomes.inc({ source, outcome })
      const reject: NoteRejected = (reason, detail, request, body) => {
        count(reason)
        note(reason, detail, request, body)
        request.log.debug({ source, reason, detail }, 'webhook rejected')
      }
      const evaluate = createEvaluator(source, scheme, parts)
      const target = `/webhooks/${source}`
      // At this level a line tells of each request, and it is written on the ordinary way.
      if (originBefore && !app.log.isLevelEnabled?.('debug')) {
        const stored = outcomes.labels({ source, outcome: 'accepted' satisfies Outcome })
        const answer = direct.answer({
          target,
          perMinute: requestsPerMinute,
          bodyLimit,
          evaluate,
          acceptor,
          limits: app.limits,
          bodies: app.bodies,
          originOf: originBefore,
          log: app.log,
          headers: app.securityHeaders.common,
          accepted: () => stored.inc(),
        })
        app.direct.post(target, answer)
      }
      scope.post(
        target,
        {
          bodyLimit,
          onError: async (request, _reply, error) => noteUnread(request, error, reject),
          config: {
            access: 'public',
            quiet: true,
            forMachines: true,
            rateLimit: { max: requestsPerMinute },
            // A source's own rate is told whether or not others are on.
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
          originOf,
          count,
          reject,
        }),
      )
      const { ask } = scheme
      if (!ask) continue
      scope.get(
        `/webhooks/${source}`,
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
          const result = ask({ query, headers: request.raw.headers, now: parts.clock.now() })
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
  })
}
