import { Type } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import type { Configuration } from '../../config/environment.ts'
import type { App } from '../../http/app.ts'
import type { RawRoute } from '../../http/raw/routes.ts'
import { ofLimits } from '../../http/responses/response-headers.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Activity } from '../activity/activity.ts'
import type { Acceptor } from './acceptor.ts'
import type { Backlog } from './backlog.ts'
import { WebhookEndpoint, type Outcome } from './endpoint.ts'
import { createEvaluator } from './evaluate.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { RejectedLog } from '../rejections/log.ts'
import { reasons } from '../rejections/reasons.ts'
import type { Scheme } from '../schemes/scheme.ts'
import type { SharedSourceRateParts } from './shared-source-rate.ts'

export interface WebhookParts {
  sources: ReadonlyMap<string, Scheme>
  acceptor: Acceptor
  backlog: Backlog
  planOf: PlanOf
  configuration: Configuration
  clock: Clock
  log: Log
  metrics: Metrics
  rejected: RejectedLog
  /** Set if several processes share the rates of sources. */
  sharedRates: SharedSourceRateParts | undefined
  activity: Activity
}

const Received = Type.Object(
  { received: Type.Literal(true) },
  { description: 'The event is stored durably; duplicates are not processed again.' },
)

const Unauthorized = {
  description: 'The signature is missing or wrong; the event is not stored.',
  content: { 'text/plain': { schema: Type.Literal('invalid signature') } },
}

const Answer = {
  description: 'The response that the sender expects.',
  content: { 'text/plain': { schema: Type.String() }, 'application/json': { schema: Type.Unknown() } },
}

/** Declares `POST /webhooks/{source}` for every source, and GET for sources whose senders verify the address by a challenge. Returns what answers each source. */
export function webhookRoutes(app: App, parts: WebhookParts): ReadonlyMap<string, WebhookEndpoint> {
  const endpoints = new Map<string, WebhookEndpoint>()
  const outcomes = parts.metrics.counter(
    'postern_webhooks_total',
    `Webhooks by source and outcome: accepted, answered, ${Object.keys(reasons).join(', ')}`,
    ['source', 'outcome'],
  )
  const unhandled = parts.metrics.counter(
    'postern_webhooks_unhandled_total',
    'Accepted webhooks that no handler takes, by source',
    ['source'],
  )
  const durations = parts.metrics.durations.webhooks
  const { bodyLimit, baseUrl, production } = parts.configuration
  for (const [source, scheme] of parts.sources) {
    // The labels of the most frequent outcome are looked up once.
    const accepted = outcomes.labels({ source, outcome: 'accepted' satisfies Outcome })
    const acceptedLately = parts.activity.of('source', source, 'accepted')
    const endpoint = new WebhookEndpoint({
      source,
      evaluate: createEvaluator(source, scheme, parts),
      acceptor: parts.acceptor,
      bodyLimit,
      baseUrl,
      count(outcome) {
        if (outcome === 'accepted') {
          accepted.inc()
          acceptedLately.add()
        } else {
          outcomes.inc({ source, outcome })
          parts.activity.of('source', source, outcome).add()
        }
      },
      countUnhandled: () => unhandled.inc({ source }),
      observe: (ms) => durations.observe(ms),
      noteRejected: parts.rejected.of(source, scheme.signatureHeader),
      logLevel: production ? 'debug' : 'info',
    })
    endpoints.set(source, endpoint)
    declareWebhook(app, source, scheme, endpoint)
    const { ask } = scheme
    if (ask)
      declareChallenge(app, source, scheme, (call) => endpoint.verifyAddress(call, ask, parts.clock.now()))
  }
  return endpoints
}

function declareWebhook(app: App, source: string, scheme: Scheme, endpoint: WebhookEndpoint): void {
  app.raw.add({
    method: 'POST',
    path: `/webhooks/${source}`,
    // A source's own rate is sent even if other rate limits are off.
    ...(scheme.rateLimit !== undefined && { sends: { sometimes: ofLimits } }),
    schema: {
      tags: ['receiving'],
      summary: `Receive a webhook of the source ${source} (${scheme.name})`,
      description:
        'The signature is checked over the raw body. A missing or wrong one returns 401 and the text `invalid signature`.',
      response: { 200: Received, 401: Unauthorized },
    },
    answer: (call) => endpoint.receive(call),
  })
}

function declareChallenge(app: App, source: string, scheme: Scheme, answer: RawRoute['answer']): void {
  app.raw.add({
    method: 'GET',
    path: `/webhooks/${source}`,
    schema: {
      tags: ['receiving'],
      summary: `Answer a challenge of the source ${source} (${scheme.name})`,
      description: 'The sender verifies the address before it sends webhooks to it.',
      response: { 200: Answer, 401: Unauthorized },
    },
    answer,
  })
}
