import type { FastifyBaseLogger } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem } from '../errors.ts'
import type { Verification } from '../events/verification.ts'
import type { Told } from '../http/rate-limits.ts'
import { Admission } from './admission.ts'
import type { Backlog } from './backlog.ts'
import type { IncomingEvent } from './incoming.ts'
import { keptHeaders } from './kept-headers.ts'
import { takesMediaType } from './media-types.ts'
import { orderKeyOf } from './order-key.ts'
import type { PlanOf } from './plan.ts'
import { reasonOf, type Reason } from './rejections/reasons.ts'
import type { Accepted, Reply, Scheme } from './schemes/scheme.ts'

/** A request with its whole body. */
export interface Delivered {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  /** The address that was called, with its query. */
  readonly url: string
  readonly log: FastifyBaseLogger
}

/** What is to be done with a request: store it and answer, answer it, or refuse it. */
export type Judgement =
  | {
      readonly event: IncomingEvent
      /** Instead of the usual answer. */
      readonly reply: Reply | undefined
      /** What is left of the source's own rate, if it has one. */
      readonly rate: Told | undefined
    }
  | { readonly answer: Reply }
  | Refused

export interface Refused {
  readonly refused: Reason
  readonly detail: string
  /** What it is answered with; without one, 401. */
  readonly problem: Problem | undefined
  readonly rate?: Told | undefined
}

export type Judge = (delivered: Delivered) => Judgement

export interface JudgeParts {
  backlog: Backlog
  planOf: PlanOf
  clock: Clock
  configuration: Configuration
}

/** Tells what the requests of a source are worth. Nothing is stored or answered yet. */
export function createJudge(source: string, scheme: Scheme, parts: JudgeParts): Judge {
  const { backlog, planOf, clock, configuration } = parts
  const admission = new Admission(source, scheme.rateLimit, { backlog, maxAge: configuration.inboxMaxAge })
  const firstDelay = configuration.handlerRetrySchedule[0] ?? 0

  return ({ rawBody, headers, url, log }) => {
    const now = clock.now()
    const verdict = scheme.verify({ rawBody, headers, now, url })
    const rejected = 'rejected' in verdict
    if (rejected && verdict.rejected === 'signature')
      return { refused: reasonOf(verdict), detail: verdict.detail, problem: undefined }
    if ('answer' in verdict) return verdict
    // Who cannot sign learns nothing else: what follows tells a sender that is known.
    const contentType = headers['content-type'] ?? 'application/octet-stream'
    if (!takesMediaType(scheme, contentType))
      return {
        refused: 'media-type',
        detail: contentType,
        problem: new Problem('unsupported-media-type'),
      }
    if (rejected) {
      const { detail } = verdict
      return { refused: 'malformed', detail, problem: new Problem('malformed-event', { detail }) }
    }
    const { rate, held } = admission.take(now)
    if (held) return { refused: held.reason, detail: held.problem.message, problem: held.problem, rate }

    const { id: eventId, type } = verdict
    const kept = keptHeaders(headers, scheme.signatureHeader, verificationOf(scheme, verdict))
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
        log,
      ),
    }
    return { event, reply: verdict.reply, rate }
  }
}

function verificationOf({ name }: Scheme, { secret, signedAt }: Accepted): Verification {
  return {
    scheme: name,
    ...(secret !== undefined && { secret }),
    ...(signedAt !== undefined && { signedAt }),
  }
}
