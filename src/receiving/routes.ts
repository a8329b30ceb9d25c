import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem } from '../errors.ts'
import type { Verification } from '../events/verification.ts'
import type { App } from '../http/app.ts'
import { toProblem } from '../http/problem-details.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Acceptor } from './acceptor.ts'
import { Admission } from './admission.ts'
import type { Backlog } from './backlog.ts'
import type { IncomingEvent } from './incoming.ts'
import { keptHeaders } from './kept-headers.ts'
import { takesMediaType } from './media-types.ts'
import { orderKeyOf } from './order-key.ts'
import type { PlanOf } from './plan.ts'
import type { NoteRejected, RejectedLog } from './rejections/log.ts'
import { reasonOf, reasons, type Reason } from './rejections/reasons.ts'
import type { Accepted, Reply, Scheme } from './schemes/scheme.ts'

export interface WebhookParts {
  sources: ReadonlyMap<string, Scheme>
  acceptor: Acceptor
  backlog: Backlog
  planOf: PlanOf
  configuration: Configuration
  clock: Clock
  metrics: Metrics
  rejected: RejectedLog
}

/** Requests that one address may make in a minute: senders deliver in bursts, and each is verified anyway. */
const requestsPerMinute = 60_000
const anyType = { 'content-type': 'application/octet-stream' } as const
const received = { received: true } as const
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
  const { configuration, metrics } = parts
  const bodyLimit = configuration.bodyLimit
  const outcomes = metrics.counter(
    'postern_webhooks_total',
    `Webhooks by source and outcome: accepted, answered, ${Object.keys(reasons).join(', ')}`,
    ['source', 'outcome'],
  )

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
      const accept = createAccept(source, scheme, parts, { count, reject })
      scope.post(
        `/webhooks/${source}`,
        {
          bodyLimit,
          onError: async (request, _reply, error) => noteUnread(request, error, reject),
          config: { access: 'public', quiet: true, forMachines: true, rateLimit: { max: requestsPerMinute } },
          schema: {
            tags: ['receiving'],
            summary: `Receive a webhook of the source ${source} (${scheme.name})`,
            description:
              'The signature is checked over the raw body. A missing or wrong one is answered with 401 and the text `invalid signature`.',
            response: { 200: Received, 401: Unauthorized },
          },
        },
        accept,
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
          const verdict = ask({ query, headers: request.raw.headers, now: parts.clock.now() })
          if ('answer' in verdict) {
            count('answered')
            return sendReply(reply, verdict.answer)
          }
          reject(reasonOf(verdict), verdict.detail, request)
          if (verdict.rejected === 'malformed') throw new Problem('bad-request', { detail: verdict.detail })
          return refuseSignature(reply)
        },
      )
    }
  })
}

function sendReply(reply: FastifyReply, { status, body, contentType }: Reply): FastifyReply {
  if (contentType !== undefined) reply.type(contentType)
  // As bytes, so that no serializer changes it.
  return reply.code(status).send(body === '' ? undefined : Buffer.from(body))
}

function refuseSignature(reply: FastifyReply): FastifyReply {
  return reply.code(401).type('text/plain; charset=utf-8').send('invalid signature')
}

type Outcome = 'accepted' | 'answered' | Reason

/** What is refused before its body is there: nobody knows yet whether the sender is who they say. */
function noteUnread(request: FastifyRequest, error: FastifyError, reject: NoteRejected): void {
  if (request.body !== undefined) return
  const { code, message } = toProblem(error)
  if (code === 'body-too-large') reject('too-large', message, request)
  else if (code === 'overloaded') reject('overloaded', message, request)
  else if (code === 'too-many-requests') reject('limited', message, request)
}

function createAccept(
  source: string,
  scheme: Scheme,
  parts: WebhookParts,
  { count, reject }: { count: (outcome: Outcome) => void; reject: NoteRejected },
) {
  const { acceptor, backlog, planOf, clock, configuration } = parts
  const admission = new Admission(source, scheme.rateLimit, { backlog, maxAge: configuration.inboxMaxAge })
  const { signatureHeader } = scheme
  const firstDelay = configuration.handlerRetrySchedule[0] ?? 0

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { headers } = request.raw
    const now = clock.now()
    const rawBody = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
    const origin = configuration.baseUrl ?? `${request.protocol}://${request.host}`
    const verdict = scheme.verify({ rawBody, headers, now, url: `${origin}${request.raw.url}` })
    const rejected = 'rejected' in verdict
    if (rejected && verdict.rejected === 'signature') {
      reject(reasonOf(verdict), verdict.detail, request, rawBody)
      return refuseSignature(reply)
    }
    if ('answer' in verdict) {
      count('answered')
      return sendReply(reply, verdict.answer)
    }
    // Who cannot sign learns nothing else: what follows tells a sender that is known.
    const contentType = headers['content-type'] ?? 'application/octet-stream'
    if (!takesMediaType(scheme, contentType)) {
      reject('media-type', contentType, request, rawBody)
      throw new Problem('unsupported-media-type')
    }
    if (rejected) {
      reject('malformed', verdict.detail, request, rawBody)
      throw new Problem('malformed-event', { detail: verdict.detail })
    }
    const refusal = admission.refusal(reply, now)
    if (refusal) {
      reject(refusal.held, refusal.problem.message, request, rawBody)
      throw refusal.problem
    }
    const { id: eventId, type } = verdict
    const kept = keptHeaders(headers, signatureHeader, verificationOf(scheme, verdict))
    const plan = planOf(source, type)
    const handled = plan.handlers.length > 0
    const event: IncomingEvent = {
      source,
      eventId,
      type,
      contentType,
      payload: rawBody,
      headers: kept,
      receivedAt: now,
      status: handled ? 'pending' : 'processed',
      dueAt: handled ? now + firstDelay : now,
      orderKey: orderKeyOf(
        plan,
        { source, eventId, type, payload: rawBody, headers: kept, receivedAt: now, attempts: 1 },
        request.log,
      ),
    }
    try {
      await acceptor.accept(event)
    } catch (error) {
      const { code, message } = toProblem(error)
      reject(
        code === 'overloaded' || code === 'stopping' ? 'overloaded' : 'unavailable',
        message,
        request,
        rawBody,
      )
      throw error
    }
    count('accepted')
    return verdict.reply ? sendReply(reply, verdict.reply) : received
  }
}

function verificationOf({ name }: Scheme, { secret, signedAt }: Accepted): Verification {
  return {
    scheme: name,
    ...(secret !== undefined && { secret }),
    ...(signedAt !== undefined && { signedAt }),
  }
}
