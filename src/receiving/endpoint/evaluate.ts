import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../errors.ts'
import { type Verification, verifiedName } from '../../events/store.ts'
import type { RateStatus } from '../../http/limits/rate-limits.ts'
import type { Log } from '../../telemetry/log.ts'
import { admissionOf, type Admitted, type SharedSourceRateParts, type Backlog } from './admission.ts'
import type { IncomingEvent } from '../queue/store.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import { type Reason, reasonOf } from '../rejections/reasons.ts'
import type {
  Accepted,
  Answered,
  Delivery,
  Rejected,
  Reply,
  Scheme,
  VerificationResult,
  FetchFirst,
} from '../schemes/scheme.ts'
import type { GuardedFetch } from '../../network/guarded-fetch.ts'
import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { type Received, receivedEvent } from '../worker/received-event.ts'
import { isForm } from '../../http/requests/parameters.ts'
import { form, identify, json as jsonType, kindOf, readJson, find } from '../schemes/body.ts'
import { matchesPattern } from '../../events/type-pattern.ts'
import { AddressRanges } from '../../network/egress.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { isSensitiveHeader } from '../../telemetry/printable.ts'

export interface Delivered extends Omit<Delivery, 'now' | 'url'> {
  /** The called address, with its query. */
  readonly url: string
  /** The client's address, if the request came over the network and the source has `addresses`. */
  readonly address?: string | undefined
}

/** What to do with a request: store and answer it, only answer it, or refuse it. */
export type Evaluation =
  | {
      /** To be stored in one commit before the answer. Empty if the source drops all. */
      readonly events: readonly IncomingEvent[]
      readonly dropped: readonly IncomingEvent[]
      /** Instead of the usual answer. */
      readonly reply: Reply | undefined
      /** What is left of the source's own rate, if it has one. */
      readonly rate: RateStatus | undefined
    }
  | Answered
  | Refused

interface Refused {
  readonly refused: Reason
  readonly detail: string
  /** The answer; without it, 401. */
  readonly problem: Problem | undefined
  readonly rate?: RateStatus | undefined
}

/** Returns a promise only if keys are fetched, or other processes are asked about the source's rate; it does not reject. */
type Evaluate = (delivered: Delivered) => Evaluation | Promise<Evaluation>

export interface EvaluatorParts extends Pick<ModuleParts, 'clock' | 'configuration' | 'log'> {
  backlog: Backlog
  planOf: PlanOf
  /** Set if several processes share the rates of sources. */
  sharedRates: SharedSourceRateParts | undefined
  /** Fetches the keys that senders publish. */
  fetchKeys: GuardedFetch
}

/** Rounds of fetching for one delivery: a discovery document, its keys, and the keys again if they lack one. */
const mostRounds = 3

/** Evaluates requests of a source: signature, media type, form, rate. It stores and answers nothing. */
export function createEvaluator(source: string, scheme: Scheme, parts: EvaluatorParts): Evaluate {
  const { backlog, planOf, clock, configuration, sharedRates, log, fetchKeys } = parts
  const admit = admissionOf(source, scheme.rateLimit, {
    backlog,
    maxAge: configuration.inboxMaxAge,
    shared: sharedRates,
  })
  const firstDelay = configuration.handlerRetrySchedule[0] ?? 0
  const target: Target = { source, scheme, planOf, firstDelay, log }

  const allowed = scheme.addresses && new AddressRanges(scheme.addresses)
  const mediaTypeOf = mediaTypeReader(scheme)

  const evaluateAdmitted = (
    { rate, refusal }: Admitted,
    verified: Accepted,
    arrival: Arrival,
  ): Evaluation => {
    if (refusal)
      return { refused: refusal.reason, detail: refusal.problem.message, problem: refusal.problem, rate }
    const all = [eventOf(target, verified, verified, arrival)]
    for (const other of verified.others ?? []) all.push(eventOf(target, other, verified, arrival))
    const dropped = scheme.drop === undefined ? none : all.filter((event) => isDropped(target, event))
    const events = dropped.length === 0 ? all : all.filter((event) => !dropped.includes(event))
    return { events, dropped, reply: verified.reply, rate }
  }

  const evaluateVerified = (
    verified: Exclude<VerificationResult, FetchFirst>,
    { rawBody, headers, now: receivedAt }: Delivery,
  ): Evaluation | Promise<Evaluation> => {
    if ('answer' in verified) return verified
    const contentType = mediaTypeOf(headers, rawBody)
    const unsupported = unsupportedBody(scheme, headers, contentType)
    if ('rejected' in verified) return refusalOf(verified, unsupported)
    // The content of a GET is its query.
    if (unsupported && !(rawBody.length === 0 && verified.content)) return unsupported
    const arrival = { rawBody, headers, contentType, receivedAt }
    const admitted = admit(receivedAt)
    return admitted instanceof Promise
      ? admitted.then((it) => evaluateAdmitted(it, verified, arrival))
      : evaluateAdmitted(admitted, verified, arrival)
  }

  return ({ rawBody, headers, url, sent, address }) => {
    if (allowed && address !== undefined && !allowed.has(address)) return elsewhere
    const delivery: Delivery = { rawBody, headers, now: clock.now(), url, ...(sent && { sent }) }
    const verified = scheme.verify(delivery)
    if (!('fetchFirst' in verified)) return evaluateVerified(verified, delivery)
    return fetchThenVerify(verified, () => scheme.verify(delivery), fetchKeys).then(
      (found) => evaluateVerified(found, delivery),
      keysUnavailable,
    )
  }
}

const none: readonly IncomingEvent[] = []

const elsewhere: Refused = {
  refused: 'address-not-allowed',
  detail: 'the address is not one of the source’s `addresses`',
  problem: undefined,
}

function keysUnavailable(error: unknown): Refused {
  const detail = 'The sender’s keys cannot be fetched now.'
  return {
    refused: 'keys-unavailable',
    detail: error instanceof Error ? error.message : String(error),
    problem: new Problem('overloaded', { retryAfter: 10, detail }),
  }
}

/** Fetches what the verification needs and verifies again. Rejects if it cannot be fetched. */
async function fetchThenVerify(
  first: FetchFirst,
  verify: () => VerificationResult,
  fetchKeys: GuardedFetch,
): Promise<Exclude<VerificationResult, FetchFirst>> {
  let wanted = first
  for (let round = 0; round < mostRounds; round += 1) {
    await wanted.fetchFirst(fetchKeys)
    const verified = verify()
    if (!('fetchFirst' in verified)) return verified
    wanted = verified
  }
  throw new Error('the keys change too often')
}

/**
 * For an unverified sender, 401 hides all other faults. The log names the fault of a body that cannot be read, because such a body
 * is no proof that the secret is wrong. @param unsupported the refusal of the media type, if it is refused
 */
function refusalOf(rejected: Rejected, unsupported: Unsupported | undefined): Refused {
  const { detail } = rejected
  if (rejected.rejected === 'malformed')
    return (
      unsupported ?? { refused: 'malformed', detail, problem: new Problem('malformed-event', { detail }) }
    )
  return unsupported?.isUnreadable
    ? { ...unsupported, problem: undefined }
    : { refused: reasonOf(rejected), detail, problem: undefined }
}

interface Unsupported extends Refused {
  /** The body is compressed or split into parts, so that its signature may be of other bytes, or within it. */
  readonly isUnreadable: boolean
}

function unsupportedBody(
  scheme: Scheme,
  headers: IncomingHttpHeaders,
  contentType: string,
): Unsupported | undefined {
  const isTaken = takesMediaType(scheme, contentType)
  const unreadable = unreadableAs(scheme, headers, isTaken)
  if (unreadable !== undefined)
    return {
      refused: 'media-type',
      detail: unreadable,
      problem: new Problem('unsupported-media-type', { detail: unreadable, advice: unreadableAdvice }),
      isUnreadable: true,
    }
  if (isTaken) return undefined
  const problem = new Problem('unsupported-media-type')
  return { refused: 'media-type', detail: contentType, problem, isUnreadable: false }
}

const unreadableAdvice = 'Send the body as JSON in one part, uncompressed or with gzip, deflate or br.'

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

/** @param one the first event of the request, or one of its others */
function eventOf(
  { source, scheme, planOf, firstDelay, log }: Target,
  one: Pick<Accepted, 'id' | 'type' | 'content'>,
  verified: Accepted,
  arrival: Arrival,
): IncomingEvent {
  const { id: eventId, content } = one
  const { headers, receivedAt } = arrival
  const payload = content?.bytes ?? arrival.rawBody
  const contentType = content?.type ?? arrival.contentType
  const type = scheme.route ? routedType(scheme.route, one.type, payload, arrival) : one.type
  const named =
    headers['content-type'] === contentType ? headers : { ...headers, 'content-type': contentType }
  const stored = headersToStore(named, scheme.signatureHeader, verificationOf(scheme, verified))
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
    orderKey: plan.order
      ? orderKeyOf(
          plan.order,
          { source, eventId, type, payload, headers: stored, receivedAt, attempts: 1 },
          log,
        )
      : null,
  }
}

/** The type at the place that the source declares, or that of its scheme. */
function routedType(
  route: NonNullable<Scheme['route']>,
  type: string,
  rawBody: Buffer,
  { headers, receivedAt }: Arrival,
): string {
  const body = 'body' in route ? readJson(rawBody) : { value: undefined }
  if ('rejected' in body) return type
  const found = identify('id', find(route, { rawBody, headers, now: receivedAt }, body.value))
  return 'type' in found ? found.type : type
}

/** Whether the source drops an event. One whose predicate throws is stored. */
function isDropped({ source, scheme, log }: Target, event: IncomingEvent): boolean {
  const { drop } = scheme
  if (drop === undefined) return false
  if (typeof drop !== 'function') return drop.some((one) => matchesPattern(one, event.type))
  try {
    const result: unknown = drop(receivedEvent({ ...event, attempts: 1 }))
    // A promise is true as well, and would drop everything.
    if (typeof result !== 'boolean') throw new TypeError('drop must return true or false, and not a promise')
    return result
  } catch (error) {
    log.error({ err: error, source, eventId: event.eventId }, 'drop failed: the event is stored')
    return false
  }
}

function verificationOf({ name }: Scheme, { secret, signedAt }: Accepted): Verification {
  return {
    scheme: name,
    ...(secret !== undefined && { secret }),
    ...(signedAt !== undefined && { signedAt }),
  }
}

/** Characters of a key that is stored unhashed. */
const longest = 200

/**
 * Returns the order key of an event, prefixed by the handler's name, or `null` for an event without one. Events whose `orderBy`
 * throws share a key.
 */
function orderKeyOf(
  order: NonNullable<Plan['order']>,
  event: Received,
  log: FastifyBaseLogger,
): string | null {
  let key: unknown
  try {
    key = order.by(receivedEvent(event))
    if (key === undefined || key === null) return null
    if (typeof key !== 'string' && typeof key !== 'number')
      throw new TypeError(`orderBy returned ${typeof key}: a string or a number is needed`)
  } catch (error) {
    log.error(
      { err: error, handler: order.handler, eventId: event.eventId },
      'orderBy failed: the event is processed after the other events whose orderBy failed',
    )
    return `${order.handler}\n`
  }
  const text = String(key).toWellFormed().replaceAll('\0', '')
  const short = text.length <= longest && text === String(key)
  return `${order.handler}\n=${short ? text : createHash('sha256').update(String(key)).digest('base64url')}`
}

const json = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;|$)/i

/** Whether the scheme accepts bodies of this type: its own types, those of JSON by default, all for an empty list. */
function takesMediaType({ mediaTypes }: Pick<Scheme, 'mediaTypes'>, contentType: string): boolean {
  if (mediaTypes === undefined || mediaTypes.includes('application/json'))
    if (json.test(contentType)) return true
  if (mediaTypes === undefined) return false
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return mediaTypes.length === 0 || mediaTypes.includes(essence)
}

const unknownType = 'application/octet-stream'

/**
 * Returns a function that finds a request's media type. `Content-Type` is not signed, so where a source takes both JSON and
 * forms, the bytes decide which of them a body is, and the header only names the kind that they have.
 */
function mediaTypeReader(scheme: Pick<Scheme, 'mediaTypes'>) {
  const takesBoth = takesMediaType(scheme, form) && takesMediaType(scheme, jsonType)
  return (headers: IncomingHttpHeaders, rawBody: Uint8Array): string => {
    const declared = headers['content-type'] ?? unknownType
    if (!takesBoth || !takesMediaType(scheme, declared)) return declared
    const kind = kindOf(rawBody)
    if (isForm(declared) === (kind === 'form')) return declared
    return kind === 'form' ? form : kind === 'json' ? jsonType : unknownType
  }
}

/**
 * Why the body cannot be read as sent, whatever its media type: it is compressed, or split into parts. A source that accepts every
 * type stores such bodies as bytes.
 * @param isTaken whether the source takes the media type
 */
function unreadableAs(
  scheme: Pick<Scheme, 'mediaTypes'>,
  headers: IncomingHttpHeaders,
  isTaken: boolean,
): string | undefined {
  if (scheme.mediaTypes?.length === 0) return undefined
  const coding = headers['content-encoding']
  if (coding !== undefined && !/^(identity)?$/i.test(coding))
    return `Content-Encoding: ${coding.slice(0, 50)}. Only valid gzip, deflate and br are decompressed.`
  const type = headers['content-type']
  if (type !== undefined && !isTaken && /^multipart\//i.test(type))
    return `Content-Type: ${type.split(';', 1)[0]!}. Its parts, such as attachments, are not read.`
  return undefined
}

/** Names of headers about the connection. */
const connection =
  /^(?:host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|accept|accept-encoding)$/

/** Whether a header is stored, by its name. Senders choose the names, so the size is bounded. */
const known = new Map<string, boolean>()

/**
 * Returns the headers to store with an event, as JSON without credentials.
 * @param signatureHeader another header with a signature
 * @param verified stored under a name that no header can have, see events/store.ts
 */
export function headersToStore(
  headers: IncomingHttpHeaders,
  signatureHeader?: string,
  verified?: Verification,
): string {
  const stored: Record<string, unknown> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && name !== signatureHeader && isStored(name)) stored[name] = value
  }
  if (verified) stored[verifiedName] = verified
  return JSON.stringify(stored)
}

export function isAboutConnection(name: string): boolean {
  return connection.test(name)
}

function isStored(name: string): boolean {
  let stored = known.get(name)
  if (stored === undefined) {
    stored = !isSensitiveHeader(name) && !isAboutConnection(name)
    if (known.size < 1_000) known.set(name, stored)
  }
  return stored
}
