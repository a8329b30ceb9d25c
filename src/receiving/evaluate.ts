import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem } from '../errors.ts'
import type { Verification } from '../events/verification.ts'
import type { RateStatus } from '../http/rate-limits.ts'
import type { Log } from '../telemetry/log.ts'
import { Admission, type Admitted } from './admission.ts'
import type { Backlog } from './backlog.ts'
import type { IncomingEvent } from './incoming.ts'
import { headersToStore } from './stored-headers.ts'
import { takesMediaType } from './media-types.ts'
import { orderKeyOf } from './order-key.ts'
import type { PlanOf } from './plan.ts'
import { reasonOf, type Reason } from './rejections/reasons.ts'
import type { Accepted, Reply, Scheme } from './schemes/scheme.ts'
import type { SharedSourceRateParts } from './shared-source-rate.ts'

/** A request with its whole body. */
export interface Delivered {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  /** The called address, with its query. */
  readonly url: string
}

/** What to do with a request: store and answer it, only answer it, or refuse it. */
export type Evaluation =
  | {
      readonly event: IncomingEvent
      /** Instead of the usual answer. */
      readonly reply: Reply | undefined
      /** What is left of the source's own rate, if it has one. */
      readonly rate: RateStatus | undefined
    }
  | { readonly answer: Reply }
  | Refused

export interface Refused {
  readonly refused: Reason
  readonly detail: string
  /** The answer; without it, 401. */
  readonly problem: Problem | undefined
  readonly rate?: RateStatus | undefined
}

/** Returns a promise only if other processes must be asked about the source's rate; it does not reject. */
export type Evaluate = (delivered: Delivered) => Evaluation | Promise<Evaluation>

export interface EvaluatorParts {
  backlog: Backlog
  planOf: PlanOf
  clock: Clock
  configuration: Configuration
  log: Log
  /** Set if several processes share the rates of sources. */
  sharedRates: SharedSourceRateParts | undefined
}

/** Evaluates requests of a source: signature, media type, form, rate. It stores and answers nothing. */
export function createEvaluator(source: string, scheme: Scheme, parts: EvaluatorParts): Evaluate {
  const { backlog, planOf, clock, configuration, log, sharedRates } = parts
  const admission = new Admission(source, scheme.rateLimit, {
    backlog,
    maxAge: configuration.inboxMaxAge,
    shared: sharedRates,
  })
  const firstDelay = configuration.handlerRetrySchedule[0] ?? 0

  return ({ rawBody, headers, url }) => {
    const now = clock.now()
    const verified = scheme.verify({ rawBody, headers, now, url })
    const rejected = 'rejected' in verified
    if (rejected && verified.rejected === 'signature')
      return { refused: reasonOf(verified), detail: verified.detail, problem: undefined }
    if ('answer' in verified) return verified
    // All further answers go to verified senders only: an unverified one learns nothing else.
    const contentType = headers['content-type'] ?? 'application/octet-stream'
    if (!takesMediaType(scheme, contentType))
      return {
        refused: 'media-type',
        detail: contentType,
        problem: new Problem('unsupported-media-type'),
      }
    if (rejected) {
      const { detail } = verified
      return { refused: 'malformed', detail, problem: new Problem('malformed-event', { detail }) }
    }
    const admitted = admission.take(now)
    const evaluateAdmitted = ({ rate, held }: Admitted): Evaluation =>
      held
        ? { refused: held.reason, detail: held.problem.message, problem: held.problem, rate }
        : {
            event: eventOf(verified, { rawBody, headers }, contentType, now),
            reply: verified.reply,
            rate,
          }
    return admitted instanceof Promise ? admitted.then(evaluateAdmitted) : evaluateAdmitted(admitted)
  }

  function eventOf(
    verified: Accepted,
    { rawBody, headers }: Omit<Delivered, 'url'>,
    contentType: string,
    receivedAt: number,
  ): IncomingEvent {
    const { id: eventId, type } = verified
    const kept = headersToStore(headers, scheme.signatureHeader, verificationOf(scheme, verified))
    const plan = planOf(source, type)
    const handled = plan.handlers.length > 0
    return {
      source,
      eventId,
      type,
      contentType,
      payload: rawBody,
      headers: kept,
      receivedAt,
      status: handled ? 'pending' : 'processed',
      dueAt: handled ? receivedAt + firstDelay : receivedAt,
      orderKey: orderKeyOf(
        plan,
        { source, eventId, type, payload: rawBody, headers: kept, receivedAt, attempts: 1 },
        log,
      ),
    }
  }
}

function verificationOf({ name }: Scheme, { secret, signedAt }: Accepted): Verification {
  return {
    scheme: name,
    ...(secret !== undefined && { secret }),
    ...(signedAt !== undefined && { signedAt }),
  }
}
