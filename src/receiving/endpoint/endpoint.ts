import { Problem, type ProblemCode } from '../../errors.ts'
import { toProblem } from '../../http/responses/problem-details.ts'
import { parseQueryString, rawQuery } from '../../http/requests/parameters.ts'
import { rawAnswer, type RawAnswer, type RawCall } from '../../http/raw/call.ts'
import { createEvaluator, type Delivered, type Evaluation, type EvaluatorParts } from './evaluate.ts'
import { decompress, isCoding } from './decompress.ts'
import type { IncomingEvent } from '../queue/store.ts'
import type { RejectedLog } from '../rejections/log.ts'
import { type Reason, reasonOf, reasons } from '../rejections/reasons.ts'
import type { Reply, Scheme } from '../schemes/scheme.ts'
import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import type { RawRoute } from '../../http/raw/routes.ts'
import { ofLimits } from '../../http/responses/response-headers.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { begin, run, spans, withContext } from '../../telemetry/spans.ts'
import type { Activity } from '../activity.ts'
import { GroupCommit, type GroupCommitLimits } from '../../storage/group-commit.ts'

/** The most requests of one address in a minute. It is high, because senders deliver in bursts, and all are verified. */
const requestsPerMinute = 60_000

type Outcome = 'accepted' | 'answered' | 'dropped' | Reason

type EndpointParts = ReturnType<typeof endpointParts>

const received = rawAnswer(200, '{"received":true}', { 'content-type': 'application/json; charset=utf-8' })
const invalidSignature = rawAnswer(401, 'invalid signature', { 'content-type': 'text/plain; charset=utf-8' })

const hostName = /^[\w.-]{1,253}$/

/** The reasons for refusals before the body is read, when the sender is not verified yet. */
const unreadReasons: Partial<Record<ProblemCode, Reason>> = {
  'body-too-large': 'too-large',
  'request-timeout': 'too-slow',
  overloaded: 'overloaded',
  'too-many-requests': 'limited',
}

class WebhookEndpoint {
  readonly #parts: EndpointParts

  constructor(parts: EndpointParts) {
    this.#parts = parts
  }

  /** Verifies, stores and acknowledges a webhook. */
  async receive(call: RawCall): Promise<RawAnswer> {
    const { evaluate, baseUrl, count, observe, scheme } = this.#parts
    const read = await this.#readBody(call)
    const { rawBody } = read
    const { url } = call.request
    const address = scheme.addresses && call.address
    const delivered = { ...read, url: `${baseUrl ?? call.baseUrl}${url}`, address }
    const evaluation = await (spans.verify.start.hasSubscribers
      ? this.#evaluateTraced(delivered)
      : evaluate(delivered))
    if ('answer' in evaluation) {
      count('answered')
      const { note } = evaluation
      if (note !== undefined)
        call.log.warn(
          { source: this.#parts.source, note },
          'the sender of a source sent a verification token',
        )
      return toAnswer(evaluation.answer)
    }
    if (evaluation.rate) call.sendLimit(evaluation.rate)
    if ('refused' in evaluation) {
      this.#reject(evaluation.refused, evaluation.detail, call, rawBody)
      if (evaluation.problem) throw evaluation.problem
      return invalidSignature
    }
    const { events, dropped, reply } = evaluation
    const [first] = events
    const work =
      first && spans.commit.start.hasSubscribers
        ? begin('commit', first.headers, this.#attributesOf(first))
        : undefined
    try {
      const { acceptor } = this.#parts
      if (first) await (work ? run(work, () => acceptor.add(events)) : acceptor.add(events))
    } catch (error) {
      const { code, message } = toProblem(error)
      const reason = code === 'overloaded' || code === 'stopping' ? 'overloaded' : 'unavailable'
      this.#reject(reason, message, call, rawBody)
      throw error
    }
    for (const { type, eventId } of dropped) {
      count('dropped')
      this.#log(call, 'webhook dropped by the filter of its source', { type, eventId })
    }
    if (first) observe(call.elapsed, work?.context?.traceparent)
    for (const event of events) this.#noteAccepted(event, call)
    return reply ? toAnswer(reply) : received
  }

  #noteAccepted(event: IncomingEvent, call: RawCall): void {
    const { type, eventId, status } = event
    this.#countAccepted(event)
    if (!this.#isLogged(call)) return
    let message = 'webhook accepted'
    if (this.#parts.isRepeated(event))
      message += ': its event ID is stored already, so it is not processed again'
    else if (status === 'processed') message += ': no handler matches its type'
    this.#log(call, message, { type, eventId })
  }

  /** The stored headers have the context of the span: all that follows is its child. */
  #evaluateTraced(delivered: Delivered): Promise<Evaluation> {
    const { source, evaluate } = this.#parts
    const work = begin('verify', delivered.headers, { 'postern.source': source })
    return run(work, async () => {
      const evaluation = await evaluate({ ...delivered, headers: withContext(delivered.headers, work) })
      if ('refused' in evaluation) work.attributes['postern.refused'] = evaluation.refused
      else if ('events' in evaluation && evaluation.events[0])
        Object.assign(work.attributes, this.#attributesOf(evaluation.events[0]))
      return evaluation
    })
  }

  #attributesOf({ eventId, type }: IncomingEvent): Record<string, string> {
    return { 'postern.source': this.#parts.source, 'messaging.message.id': eventId, 'postern.type': type }
  }

  /**
   * Verifies and stores a sample that this service has signed.
   * @throws Problem with the reason if it is refused; what storing throws
   */
  async receiveSample(delivered: Delivered): Promise<IncomingEvent> {
    const { evaluate, acceptor } = this.#parts
    const evaluation = await evaluate(delivered)
    if ('answer' in evaluation)
      throw new Problem('unprocessable', {
        detail: 'The source takes the sample for a check of its address.',
      })
    if ('refused' in evaluation)
      throw evaluation.problem ?? new Problem('unprocessable', { detail: evaluation.detail })
    const [event] = evaluation.events
    if (!event) throw new Problem('unprocessable', { detail: 'The source drops events of this type.' })
    await acceptor.add(evaluation.events)
    for (const one of evaluation.events) this.#countAccepted(one)
    return event
  }

  /** Answers the challenge by which a sender verifies the address. */
  async verifyAddress(call: RawCall, ask: NonNullable<Scheme['ask']>, now: number): Promise<RawAnswer> {
    call.takeFromLimit()
    const { url = '', headers } = call.request
    const query = new URLSearchParams(parseQueryString(rawQuery(url)))
    const result = ask({ query, headers, now, method: call.request.method ?? 'GET' })
    if ('answer' in result) {
      this.#parts.count('answered')
      return toAnswer(result.answer)
    }
    this.#reject(reasonOf(result), result.detail, call)
    if (result.rejected === 'malformed') throw new Problem('bad-request', { detail: result.detail })
    return invalidSignature
  }

  /**
   * Allows a sender of CloudEvents to send. This protects others from events that they do not expect, and proves nothing.
   * https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection
   */
  allowOrigin(call: RawCall): RawAnswer {
    call.takeFromLimit()
    const origin = call.request.headers['webhook-request-origin']
    const isName = typeof origin === 'string' && hostName.test(origin)
    if (isName) this.#parts.count('answered')
    const { rateLimit } = this.#parts.scheme
    const perMinute = rateLimit === undefined ? '*' : String(Math.max(1, Math.floor(rateLimit * 60)))
    return rawAnswer(200, '', {
      allow: 'POST',
      ...(isName && { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': perMinute }),
    })
  }

  #countAccepted({ status }: IncomingEvent): void {
    const { count, countUnhandled } = this.#parts
    count('accepted')
    if (status === 'processed') countUnhandled()
  }

  /** Reads the body, and decompresses it if it is compressed. */
  async #readBody(call: RawCall): Promise<Pick<Delivered, 'rawBody' | 'headers' | 'sent'>> {
    const { bodyLimit, scheme } = this.#parts
    const { headers } = call.request
    try {
      call.takeFromLimit(requestsPerMinute)
      const rawBody = await call.readBody(bodyLimit)
      const coding = headers['content-encoding']
      if (coding === undefined || !isCoding(coding)) return { rawBody, headers }
      if (scheme.mediaTypes?.length === 0 && scheme.signedBody === undefined) return { rawBody, headers }
      const plain = await decompress(rawBody, coding, bodyLimit)
      // An invalid body is rejected in the same way as one in an unknown coding.
      if (!plain) return { rawBody, headers }
      const { 'content-encoding': _, ...others } = headers
      return { rawBody: plain, headers: others, sent: rawBody }
    } catch (error) {
      const { code, message } = toProblem(error)
      const reason = unreadReasons[code]
      if (reason !== undefined) this.#reject(reason, message, call)
      throw error
    }
  }

  #reject(reason: Reason, detail: string, call: RawCall, body?: Uint8Array): void {
    const { count, noteRejected } = this.#parts
    count(reason)
    noteRejected(reason, detail, call, body)
    this.#log(call, 'webhook rejected', { reason, detail })
  }

  #isLogged(call: RawCall): boolean {
    return this.#parts.logLevel === 'info' || call.isDebugged
  }

  #log(call: RawCall, message: string, fields: Readonly<Record<string, string>>): void {
    const { source, logLevel } = this.#parts
    if (this.#isLogged(call)) call.log[logLevel]({ source, ...fields }, message)
  }
}

function toAnswer({ status, body, contentType }: Reply): RawAnswer {
  return rawAnswer(status, body, { 'content-type': contentType })
}

interface WebhookParts extends EvaluatorParts {
  sources: ReadonlyMap<string, Scheme>
  acceptor: Acceptor
  /** Whether an event that was stored is known to be a repetition of an earlier one. */
  isRepeated: (event: IncomingEvent) => boolean
  metrics: Metrics
  rejected: RejectedLog
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
  const metrics = webhookMetrics(parts.metrics)
  for (const [source, scheme] of parts.sources) {
    const endpoint = new WebhookEndpoint(endpointParts(source, scheme, parts, metrics))
    endpoints.set(source, endpoint)
    for (const { schema, ...route } of routesOf(source, scheme, endpoint, parts.clock))
      app.raw.add({
        path: `/webhooks/${source}`,
        withSlash: true,
        schema: { tags: ['receiving'], ...schema },
        ...route,
      })
  }
  return endpoints
}

function webhookMetrics(metrics: Metrics) {
  const outcomes = metrics.counter(
    'postern_webhooks_total',
    `Webhooks by source and outcome: accepted, answered, dropped, ${Object.keys(reasons).join(', ')}`,
    ['source', 'outcome'],
  )
  const unhandled = metrics.counter(
    'postern_webhooks_unhandled_total',
    'Accepted webhooks that no handler takes, by source',
    ['source'],
  )
  const observe = metrics.seconds(
    'postern_webhook_seconds',
    'Time from the head of an accepted webhook to its acknowledgement',
    'source',
    [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5],
  )
  return { outcomes, unhandled, observe }
}

function endpointParts(
  source: string,
  scheme: Scheme,
  parts: WebhookParts,
  { outcomes, unhandled, observe }: ReturnType<typeof webhookMetrics>,
) {
  const { acceptor, activity, isRepeated } = parts
  const { bodyLimit, baseUrl, production } = parts.configuration
  const { webhooks } = parts.metrics.durations
  // The labels of the most frequent counts are looked up once.
  const accepted = outcomes.labels({ source, outcome: 'accepted' satisfies Outcome })
  const unhandledHere = unhandled.labels({ source })
  const acceptedLately = activity.of('source', source, 'accepted')
  return {
    source,
    scheme,
    evaluate: createEvaluator(source, scheme, parts),
    acceptor,
    isRepeated,
    /** Bytes. */
    bodyLimit,
    /** The public address, if the setting BASE_URL gives it. */
    baseUrl,
    count: (outcome: Outcome): void => {
      if (outcome === 'accepted') {
        accepted.inc()
        acceptedLately.add()
      } else {
        outcomes.inc({ source, outcome })
        activity.of('source', source, outcome).add()
      }
    },
    /** Counts an accepted webhook that no handler takes. */
    countUnhandled: () => unhandledHere.inc(),
    /** Observes the milliseconds from the request's headers to its acknowledgement. */
    observe: (ms: number, traceparent?: string): void => {
      webhooks.observe(ms)
      observe(source, ms, traceparent)
    },
    noteRejected: parts.rejected.of(source, scheme.signatureHeader),
    /** The level of the log line for each webhook. In production, request log and metrics are enough. */
    logLevel: production ? ('debug' as const) : ('info' as const),
  }
}

type SourceRoute = Pick<RawRoute, 'method' | 'sends' | 'schema' | 'answer'>

function routesOf(source: string, scheme: Scheme, endpoint: WebhookEndpoint, clock: Clock): SourceRoute[] {
  const { name, ask, sendsGet, allowsOrigins, answersPosts, rateLimit } = scheme
  const answerGet = ask
    ? (call: RawCall) => endpoint.verifyAddress(call, ask, clock.now())
    : (call: RawCall) => (call.request.method === 'HEAD' ? rawAnswer(200, '', {}) : endpoint.receive(call))
  const post: SourceRoute = {
    method: 'POST',
    // A source's own rate is sent even if other rate limits are off.
    ...(rateLimit !== undefined && { sends: { sometimes: ofLimits } }),
    schema: {
      summary: `Receive a webhook of the source ${source} (${name})`,
      description:
        'The signature is checked over the raw body. A missing or wrong one returns 401 and the text `invalid signature`.',
      response: { 200: answersPosts || allowsOrigins ? Answer : Received, 401: Unauthorized },
    },
    answer: (call) => endpoint.receive(call),
  }
  const get: SourceRoute = {
    method: 'GET',
    schema: {
      summary: `Answer a challenge of the source ${source} (${name})`,
      description: 'The sender verifies the address before it sends webhooks to it.',
      response: { 200: Answer, 401: Unauthorized },
    },
    answer: answerGet,
  }
  const options: SourceRoute = {
    method: 'OPTIONS',
    sends: { always: ['Allow'], sometimes: ['WebHook-Allowed-Origin', 'WebHook-Allowed-Rate', ...ofLimits] },
    schema: {
      summary: `Allow a sender to send to the source ${source}`,
      description: 'The handshake of CloudEvents: the response repeats the name in `WebHook-Request-Origin`.',
      response: { 200: { description: 'With the headers, the sender may send.' } },
    },
    answer: (call) => endpoint.allowOrigin(call),
  }
  return [post, ...(allowsOrigins ? [options] : []), ...(ask || sendsGet ? [get] : [])]
}

/** Stores events durably, each at most once for each (source, event id). */
export type InsertEvents = (events: readonly IncomingEvent[]) => Promise<void>

/**
 * Stores the events of requests by group commit. `add` resolves once all events of a request are on the disk; if it rejects, none is.
 * It rejects with the Problems `overloaded` when too much waits already and `stopping` after `close`, or with StorageUnavailable.
 */
type Acceptor = GroupCommit<readonly IncomingEvent[], void>

/** Milliseconds for which a running commit delays the next one. See `GroupCommitLimits`. */
const maxWait = 50
/** Bytes of the objects around an event. */
const aroundAnEvent = 1_024

/** @param onError called for failures other than a Problem or an unavailable database. */
export function createAcceptor(
  insert: InsertEvents,
  onError: (error: unknown) => void,
  limits: Partial<GroupCommitLimits> = {},
): Acceptor {
  return new GroupCommit<readonly IncomingEvent[], void>({
    async commit(requests) {
      try {
        await insert(requests.flat())
      } catch (error) {
        // A Problem, such as a full spool, concerns all events.
        if (error instanceof Problem) return requests.map(() => error)
        throw error
      }
      return requests.map(() => undefined)
    },
    sizeOf: (events) =>
      events.reduce((sum, { payload, headers }) => sum + payload.length + headers.length + aroundAnEvent, 0),
    refuse: (reason) => new Problem(reason, { retryAfter: 1 }),
    onError,
    limits: { maxWait, ...limits },
  })
}
