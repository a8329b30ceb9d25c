import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock, Random } from '../../runtime/clock.ts'
import { version } from '../../runtime/version.ts'
import {
  NotSent,
  type Outcome,
  type Phases,
  createOutboundAgent,
  type OutboundAgent,
} from '../../network/exchange.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import {
  type Failure,
  failureOfError,
  failureOfStatus,
  failureOfTime,
  withoutResolution,
} from './failures.ts'
import { httpSignatureHeaders, signatures, type SigningKey } from './signature.ts'
import { longestRetryAfter, nextDelay, readRetryAfter } from '../../runtime/retry-schedule.ts'
import type { AttemptRecord, EventPayload } from '../store.ts'
import type { Configuration } from '../../config/environment.ts'
import { Egress, type EgressRules } from '../../network/egress.ts'
import type { TlsOptions } from '../../network/guarded-connector.ts'
import type { ResponseClass } from '../dispatch/subscriber-pace.ts'
import { deliverTo, OutOfTime, sendWithToken, type SpecialEndpoint } from './special-endpoint.ts'

const compress = promisify(gzip)

/** Bytes of a response that are read at most. Then the connection is closed. */
const responseLimit = 64 * 1024

/** The parts of a subscriber's requests that do not change. */
export interface Target {
  origin: string
  method: 'POST' | 'PUT' | 'PATCH'
  /** Including the query. */
  path: string
  headers: Readonly<Record<string, string>>
  /** The headers as the delivery log shows them: JSON without its last brace. */
  shown: string
  /** Undefined for most subscribers. */
  special: SpecialEndpoint | undefined
}

interface AttemptRequest {
  target: Target
  /** Whether the subscriber has an owner, who chose the address and sees the response. */
  owned: boolean
  event: EventPayload
  /** The number of the attempt. */
  number: number
  keys: readonly SigningKey[]
  /** Whether to add a signature by RFC 9421. */
  httpSignature: boolean
  /** Milliseconds for the whole exchange, from the connection to the last byte that is read. */
  timeout: number
  /** Asked just before the request is written. */
  maySend: () => boolean
}

export interface AttemptResult extends AttemptRecord {
  /** Of its span, if it is traced. */
  traceparent?: string | undefined
  /** Milliseconds, from the Retry-After header of a failure. */
  retryAfter?: number | undefined
  /** From the `webhook-delivery` header. */
  directive?: Directive | undefined
  /** Of a destination, which has no status. */
  response?: ResponseClass | undefined
}

/**
 * Makes one attempt. Rejects with the reason of `cut` if that aborts it, and with NotSent if `maySend` returns false; any behaviour
 * of the subscriber is a result.
 */
export type Attempt = (request: AttemptRequest, cut: AbortBroadcast) => Promise<AttemptResult>

/** The name under which the recorded request headers hold the address. No header can have it. */
export const addressKey = ':url'
/** The same for a method other than POST. */
export const methodKey = ':method'
/** The same, with the value `data`, for a body that is only the event's data. */
export const bodyKey = ':body'
/** The same, with the bytes of a transformed body of which only the beginning is stored. */
export const sizeKey = ':bytes'

/** Redacts the values of custom headers in what is shown: they may be credentials. */
export function targetOf(
  url: string,
  customHeaders: Readonly<Record<string, string>>,
  {
    method = 'POST',
    special,
    contentType = 'application/json',
    shown = Object.fromEntries(Object.keys(customHeaders).map((name) => [name, redactedValue])),
  }: {
    method?: Target['method'] | undefined
    special?: SpecialEndpoint | undefined
    contentType?: string
    /** The custom headers for display. */
    shown?: Readonly<Record<string, string>>
  } = {},
): Target {
  const { host, protocol, pathname, search } = new URL(url)
  const fixed = {
    'content-type': contentType,
    ...(!special?.destination && { 'user-agent': `Postern/${version}` }),
    ...(special?.gzip && { 'content-encoding': 'gzip' }),
  }
  return {
    // Not its `origin`, which destinations do not have.
    origin: `${protocol}//${host}`,
    method,
    special,
    path: pathname + search,
    headers: { ...customHeaders, ...fixed },
    shown: JSON.stringify({
      [addressKey]: url,
      ...(method !== 'POST' && { [methodKey]: method }),
      ...(special?.bare && { [bodyKey]: 'data' }),
      ...fixed,
      ...shown,
    }).slice(0, -1),
  }
}

export function createAttempt({ agents, clock }: { agents: Agents; clock: Clock }): Attempt {
  return async ({ target, owned, event, number, keys, httpSignature, timeout, maySend }, cut) => {
    const at = clock.now()
    const { origin, path, method, special } = target
    const timestamp = Math.floor(at / 1000)
    const headers = signedHeaders(target, event, keys, timestamp)
    const body = special?.gzip ? await compress(event.payload) : event.payload
    let requestHeaders = describeRequest(target, event, timestamp)
    if (httpSignature) {
      const signed = httpSignatureHeaders(keys, { method, url: origin + path, headers, body }, timestamp)
      Object.assign(headers, signed)
      const more = JSON.stringify({ ...signed, signature: redactedValue })
      requestHeaders = `${requestHeaders.slice(0, -1)},${more.slice(1)}`
    }
    if (cut.reason) throw cut.reason
    if (special?.destination) {
      if (!maySend()) throw new NotSent()
      const ended = await deliverTo(special.destination, event, { headers, number, timeout, clock }, cut)
      return { ...notMade(at, requestHeaders), ...ended }
    }
    const agent = special?.agent ?? (owned ? agents.owned : agents.ownerless)
    const request = { origin, path, method, headers, body, responseLimit, maySend }
    let outcome: Outcome
    if (special?.tokens) {
      const sent = await sendWithToken(special.tokens, agent, request, { clock, timeout }, cut)
      if ('failure' in sent) return notMade(at, '{}', sent.failure)
      outcome = sent
    } else {
      const exchange = agent.exchange(request)
      const unlisten = cut.onAbort((reason) => exchange.cut(reason))
      const cancel = clock.after(timeout, () => exchange.cut(new OutOfTime()))
      outcome = await exchange.ended
      cancel()
      unlisten()
    }
    cut.rethrowReason(outcome.error)
    if (outcome.error instanceof NotSent) throw outcome.error

    const answer = outcome.headers ?? {}
    const isFinal = outcome.status !== null && special?.isFinal?.(outcome.status) === true
    const directive = readDirective(answer['webhook-delivery']) ?? (isFinal ? 'abort-message' : undefined)
    const found = failureOf(outcome, timeout, directive, special)
    const failure = owned && found ? withoutResolution(found, outcome) : found
    // How long it took would tell which names are looked for elsewhere.
    const isTimed = !owned || failure?.kind !== 'name-not-found'
    return {
      at,
      durationMs: isTimed ? Math.max(0, Math.round(clock.now() - at)) : 0,
      status: outcome.status,
      error: failure?.message ?? null,
      failure: failure?.kind ?? null,
      phases: isTimed ? describePhases(outcome.phases) : null,
      requestHeaders,
      responseHeaders: outcome.headers && describeResponse(outcome.headers),
      responseBody: outcome.body,
      retryAfter: failure && readRetryAfter(first(answer['retry-after']), clock.now()),
      directive,
    }
  }
}

function signedHeaders(
  target: Target,
  event: EventPayload,
  keys: readonly SigningKey[],
  timestamp: number,
): Record<string, string> {
  const headers: Record<string, string> = {
    ...target.headers,
    ...(event.headers !== null && (JSON.parse(event.headers) as Record<string, string>)),
  }
  const signature = signatures(keys, event.event_id, timestamp, event.payload)
  for (const names of namesOf(target)) {
    headers[names.id] = event.event_id
    headers[names.timestamp] = String(timestamp)
    headers[names.signature] = signature
  }
  return headers
}

const webhook = { id: 'webhook-id', timestamp: 'webhook-timestamp', signature: 'webhook-signature' }
const svix = { id: 'svix-id', timestamp: 'svix-timestamp', signature: 'svix-signature' }
const signatureNames = { webhook: [webhook], svix: [svix], both: [webhook, svix] }

function namesOf({ special }: Target): readonly (typeof webhook)[] {
  return signatureNames[special?.signatureHeaders ?? 'webhook']
}

/** The result of an attempt that cannot be made because the payload was removed. */
export function withoutPayload(at: number): AttemptResult {
  return notMade(at, '{}', { kind: 'payload-gone', message: 'the payload is no longer stored' })
}

/** The result of an attempt that must not be made because the event is for another owner. */
export function withheld(at: number): AttemptResult {
  const message = 'the event is not for the owner of this subscriber'
  return notMade(at, '{}', { kind: 'other-audience', message })
}

/** The result without an HTTP request. */
export function notMade(at: number, requestHeaders: string, failure?: Failure): AttemptResult {
  return {
    at,
    durationMs: 0,
    status: null,
    error: failure?.message ?? null,
    failure: failure?.kind ?? null,
    phases: null,
    requestHeaders,
    responseHeaders: null,
    responseBody: null,
  }
}

function failureOf(
  outcome: Outcome,
  timeout: number,
  directive: Directive | undefined,
  special: SpecialEndpoint | undefined,
): Failure | undefined {
  const { error, status, headers, step } = outcome
  if (error instanceof OutOfTime) return failureOfTime(step, timeout)
  if (error !== undefined) return failureOfError(outcome)
  if (status === null) return undefined
  const isSuccess = status >= 200 && status <= 299
  if (special?.succeeds ? special.succeeds(status) : isSuccess) return undefined
  const failure = isSuccess ? unexpected(status) : failureOfStatus(status, first(headers?.['location']))
  if (directive === undefined || special?.isFinal?.(status)) return failure
  return {
    kind: directive === 'disable' ? 'gone' : 'aborted',
    message: `${failure.message} with webhook-delivery: ${directive}`,
  }
}

/** Of a subscriber with statuses of its own. */
function unexpected(status: number): Failure {
  const message = `returned HTTP ${status}, which this endpoint does not count as a success`
  return { kind: 'unexpected-status', message }
}

/** JSON, with milliseconds rounded to tenths. */
function describePhases(phases: Phases): string {
  let json = `{"reused":${phases.reused}`
  for (const name of ['dns', 'connect', 'tls', 'firstByte', 'total'] as const) {
    const value = phases[name]
    if (value !== undefined) json += `,"${name}":${Math.round(value * 10) / 10}`
  }
  return `${json}}`
}

/** Redacts the signatures: they stay valid for some minutes. */
function describeRequest(target: Target, { event_id, headers }: EventPayload, timestamp: number): string {
  let json = headers === null ? target.shown : `${target.shown},${headers.slice(1, -1)}`
  const id = JSON.stringify(event_id)
  for (const names of namesOf(target))
    json += `,"${names.id}":${id},"${names.timestamp}":"${timestamp}","${names.signature}":"${redactedValue}"`
  return `${json}}`
}

function describeResponse(headers: NodeJS.Dict<string | string[]>): string {
  const shown: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name] ?? ''
    shown[name] = name === 'set-cookie' ? redactedValue : typeof value === 'string' ? value : value.join(', ')
  }
  return JSON.stringify(shown)
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** A request of the subscriber in its response. */
type Directive = 'disable' | 'abort-message'

/**
 * Reads the `webhook-delivery` header of a response, as Svix defines it (https://docs.svix.com/receiving/delivery-control):
 * `disable` disables the subscriber, `abort-message` ends the attempts of this delivery. Other values are ignored.
 */
export function readDirective(header: string | string[] | undefined): Directive | undefined {
  if (header === undefined) return undefined
  const wanted = [header].flat().join(',').toLowerCase().split(',')
  const values = new Set(wanted.map((value) => value.trim()))
  if (values.has('disable')) return 'disable'
  return values.has('abort-message') ? 'abort-message' : undefined
}

/** What an attempt means for its delivery. `disable` is the reason for which the subscriber is to be disabled as well. */
export type AttemptOutcome =
  | { kind: 'delivered'; disable?: string }
  /** @property delay milliseconds */
  | { kind: 'retry'; delay: number }
  /** Dead-lettered: no further attempt follows. */
  | { kind: 'dead'; disable?: string }

/**
 * A 2xx response whose body ended in time is a success, unless the subscriber has statuses of its own. A 410 response dead-letters the
 * delivery and disables the subscriber (Standard Webhooks: "the sender should disable the endpoint"); so does
 * `webhook-delivery: disable`. `abort-message` dead-letters the delivery. Everything else is retried until the schedule ends.
 * @param begun attempts since the delivery was created or last replayed, this one included
 * @param plannedIn milliseconds until the schedule's next attempt, if somebody asked for this one before: it uses up no entry
 */
export function evaluateAttempt(
  result: AttemptResult,
  schedule: readonly number[],
  begun: number,
  random: Random,
  plannedIn?: number,
): AttemptOutcome {
  const { status, error, failure, directive, response } = result
  if (error === null && (status !== null || response === 'answered' || failure === 'canceled'))
    return { kind: 'delivered', ...disableReason(directive, undefined) }
  const disable = disableReason(directive, status)
  if (disable || directive === 'abort-message') return { kind: 'dead', ...disable }
  if (plannedIn !== undefined)
    return {
      kind: 'retry',
      delay: Math.max(0, plannedIn, Math.min(result.retryAfter ?? 0, longestRetryAfter)),
    }
  const delay = nextDelay(schedule, begun, random, result.retryAfter)
  return delay === undefined ? { kind: 'dead' } : { kind: 'retry', delay }
}

function disableReason(
  directive: Directive | undefined,
  status: number | null | undefined,
): { disable: string } | undefined {
  if (directive === 'disable') return { disable: 'The subscriber answered with webhook-delivery: disable.' }
  return status === 410 ? { disable: 'The endpoint returned HTTP 410 Gone.' } : undefined
}

/** One agent with its own connection pool for each kind of subscriber. */
interface Agents {
  /** For subscribers without an owner: only admins register them. */
  ownerless: OutboundAgent
  /** For subscribers with an owner: tenants choose their addresses. */
  owned: OutboundAgent
}

export interface SubscriberEgress {
  /** The address checks for subscribers of this owner; null for subscribers without an owner. */
  of: (owner: string | null) => Egress
  agents: Agents
  /** A new agent with these certificates, for a subscriber of this owner. */
  withTls: (owner: string | null, tls: TlsOptions) => OutboundAgent
  close: () => Promise<void>
}

type EgressSettings = Pick<
  Configuration,
  'allowPrivateNetwork' | 'emitAllowedNetworks' | 'emitAllowedHosts' | 'emitPorts' | 'emitProxy'
>

/**
 * EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS apply only to subscribers without an owner, which are the operator's own. The
 * two kinds of subscribers share no agent, so a tenant never gets a connection that such an exception allowed
 * (docs/adr/0020-exceptions-without-owner.md).
 */
export function openEgress(settings: EgressSettings): SubscriberEgress {
  const { allowPrivateNetwork, emitPorts: ports, emitProxy: proxy } = settings
  const owned: EgressRules = { allowPrivateNetwork, ports }
  const ownerless: EgressRules = {
    ...owned,
    networks: settings.emitAllowedNetworks,
    hosts: settings.emitAllowedHosts,
  }
  const checks = { owned: new Egress(owned), ownerless: new Egress(ownerless) }
  const agents: Agents = {
    owned: createOutboundAgent({ ...owned, proxy }),
    ownerless: createOutboundAgent({ ...ownerless, proxy }),
  }
  const open = new Set<OutboundAgent>([agents.owned, agents.ownerless])
  return {
    of: (owner) => (owner === null ? checks.ownerless : checks.owned),
    agents,
    withTls(owner, tls) {
      const agent = createOutboundAgent({ ...(owner === null ? ownerless : owned), proxy, tls })
      open.add(agent)
      return { ...agent, close: () => agent.close().finally(() => open.delete(agent)) }
    },
    async close() {
      await Promise.all(Array.from(open, (agent) => agent.destroy()))
    },
  }
}
