import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../runtime/clock.ts'
import type { Configuration } from '../../config/environment.ts'
import { Problem } from '../../errors.ts'
import type { Verification } from '../../events/verification.ts'
import type { RateStatus } from '../../http/limits/rate-limits.ts'
import type { Log } from '../../telemetry/log.ts'
import { Admission, type Admitted } from './admission.ts'
import type { Backlog } from './backlog.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { headersToStore } from './stored-headers.ts'
import { takesMediaType } from './media-types.ts'
import { orderKeyOf } from './order-key.ts'
import type { PlanOf } from '../handlers/plan.ts'
import { reasonOf, type Reason } from '../rejections/reasons.ts'
import type { Accepted, Rejected, Reply, Scheme } from '../schemes/scheme.ts'
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
  const { backlog, planOf, clock, configuration, sharedRates, log } = parts
  const admission = new Admission(source, scheme.rateLimit, {
    backlog,
    maxAge: configuration.inboxMaxAge,
    shared: sharedRates,
  })
  const firstDelay = configuration.handlerRetrySchedule[0] ?? 0
  const target: Target = { source, scheme, planOf, firstDelay, log }

  return ({ rawBody, headers, url }) => {
    const receivedAt = clock.now()
    const verified = scheme.verify({ rawBody, headers, now: receivedAt, url })
    if ('answer' in verified) return verified
    const contentType = headers['content-type'] ?? 'application/octet-stream'
    const unsupported = takesMediaType(scheme, contentType) ? undefined : unsupportedType(contentType)
    if ('rejected' in verified) return refusalOf(verified, unsupported)
    if (unsupported) return unsupported
    const admitted = admission.take(receivedAt)
    const evaluateAdmitted = ({ rate, held }: Admitted): Evaluation => {
      if (held) return { refused: held.reason, detail: held.problem.message, problem: held.problem, rate }
      const event = eventOf(target, verified, { rawBody, headers, contentType, receivedAt })
      return { event, reply: verified.reply, rate }
    }
    return admitted instanceof Promise ? admitted.then(evaluateAdmitted) : evaluateAdmitted(admitted)
  }
}

/** For an unverified sender, 401 hides all other faults. @param unsupported the refusal of the media type, if it is refused */
function refusalOf(rejected: Rejected, unsupported: Refused | undefined): Refused {
  const { detail } = rejected
  if (rejected.rejected === 'signature') return { refused: reasonOf(rejected), detail, problem: undefined }
  return unsupported ?? { refused: 'malformed', detail, problem: new Problem('malformed-event', { detail }) }
}

function unsupportedType(detail: string): Refused {
  return { refused: 'media-type', detail, problem: new Problem('unsupported-media-type') }
}

/** What the events of a source have in common. */
interface Target {
  readonly source: string
  readonly scheme: Scheme
  readonly planOf: PlanOf
  /** Milliseconds until the first attempt. */
  readonly firstDelay: number
  readonly log: Log
}

interface Arrival extends Omit<Delivered, 'url'> {
  readonly contentType: string
  readonly receivedAt: number
}

function eventOf(
  { source, scheme, planOf, firstDelay, log }: Target,
  verified: Accepted,
  arrival: Arrival,
): IncomingEvent {
  const { id: eventId, type } = verified
  const { rawBody: payload, headers, contentType, receivedAt } = arrival
  const stored = headersToStore(headers, scheme.signatureHeader, verificationOf(scheme, verified))
  const plan = planOf(source, type)
  const handled = plan.handlers.length > 0
  return {
    source,
    eventId,
    type,
    contentType,
    payload,
    headers: stored,
    receivedAt,
    status: handled ? 'pending' : 'processed',
    dueAt: handled ? receivedAt + firstDelay : receivedAt,
    orderKey: orderKeyOf(
      plan,
      { source, eventId, type, payload, headers: stored, receivedAt, attempts: 1 },
      log,
    ),
  }
}

function verificationOf({ name }: Scheme, { secret, signedAt }: Accepted): Verification {
  return {
    scheme: name,
    ...(secret !== undefined && { secret }),
    ...(signedAt !== undefined && { signedAt }),
  }
}
