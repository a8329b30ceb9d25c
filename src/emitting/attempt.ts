import type { Clock } from '../clock.ts'
import { version } from '../http/openapi.ts'
import type { Outcome, Phases } from '../network/exchange.ts'
import type { OutboundAgent } from '../network/outbound-agent.ts'
import { redactedValue } from './custom-headers.ts'
import { readDirective, type Directive } from './directive.ts'
import { failureOfError, failureOfStatus, failureOfTime, type Failure } from './failures.ts'
import { httpSignatureHeaders } from './http-signature.ts'
import { readRetryAfter } from '../network/retry.ts'
import { signatures, type SigningKey } from './signature.ts'
import type { AttemptRecord, Payload } from './store.ts'

/** At most this much of a response is read, in bytes; then the connection is closed. */
export const responseLimit = 64 * 1024

export interface AttemptRequest {
  url: string
  event: Payload
  keys: readonly SigningKey[]
  customHeaders: Readonly<Record<string, string>>
  /** Whether to sign by RFC 9421 as well. */
  httpSignature: boolean
  /** Milliseconds for the whole exchange, from the connection to the last byte of the response that is read. */
  timeout: number
}

export interface AttemptResult extends AttemptRecord {
  /** Milliseconds that the subscriber asked to wait. */
  retryAfter?: number | undefined
  /** What the subscriber asked for. */
  directive?: Directive | undefined
}

/** Makes one attempt. Never rejects for what the subscriber does; rejects with the signal's reason when that is aborted. */
export type Attempt = (request: AttemptRequest, signal: AbortSignal) => Promise<AttemptResult>

/** Cuts the exchange when its time is over. */
class OutOfTime extends Error {}

export function createAttempt({ agent, clock }: { agent: OutboundAgent; clock: Clock }): Attempt {
  return async ({ url, event, keys, customHeaders, httpSignature, timeout }, signal) => {
    const at = clock.now()
    const timestamp = Math.floor(at / 1000)
    const { origin, pathname, search } = new URL(url)
    const headers: Record<string, string> = {
      ...customHeaders,
      'content-type': 'application/json',
      'user-agent': `Postern/${version}`,
      'webhook-id': event.event_id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures(keys, event.event_id, timestamp, event.payload),
    }
    if (httpSignature) {
      const target = origin + pathname + search
      const request = { method: 'POST', url: target, headers, body: event.payload }
      Object.assign(headers, httpSignatureHeaders(keys, request, timestamp))
    }
    if (signal.aborted) throw signal.reason
    const exchange = agent.exchange({
      origin,
      path: pathname + search,
      method: 'POST',
      headers,
      body: event.payload,
      responseLimit,
    })
    const onStop = (): void => exchange.cut(signal.reason as Error)
    signal.addEventListener('abort', onStop, { once: true })
    const cancel = clock.after(timeout, () => exchange.cut(new OutOfTime()))
    const outcome = await exchange.ended
    cancel()
    signal.removeEventListener('abort', onStop)
    if (outcome.error !== undefined && outcome.error === signal.reason) throw signal.reason

    const answer = outcome.headers ?? {}
    const directive = readDirective(answer['webhook-delivery'])
    const failure = failureOf(outcome, timeout, directive)
    return {
      at,
      durationMs: Math.max(0, Math.round(clock.now() - at)),
      status: outcome.status,
      error: failure?.message ?? null,
      failure: failure?.kind ?? null,
      phases: describePhases(outcome.phases),
      requestHeaders: describeRequest(headers, customHeaders),
      responseHeaders: outcome.headers && describeResponse(outcome.headers),
      responseBody: outcome.body,
      retryAfter: readRetryAfter(first(answer['retry-after']), clock.now()),
      directive,
    }
  }
}

function failureOf(outcome: Outcome, timeout: number, directive: Directive | undefined): Failure | undefined {
  const { error, status, headers, step } = outcome
  if (error instanceof OutOfTime) return failureOfTime(step, timeout)
  if (error !== undefined) return failureOfError(outcome)
  if (status === null) return undefined
  const failure = failureOfStatus(status, first(headers?.['location']))
  if (failure === undefined || directive === undefined) return failure
  return {
    kind: directive === 'disable' ? 'gone' : 'aborted',
    message: `${failure.message} with webhook-delivery: ${directive}`,
  }
}

/** JSON, in tenths of milliseconds. */
function describePhases(phases: Phases): string {
  return JSON.stringify(phases, (_name, value: unknown) =>
    typeof value === 'number' ? Math.round(value * 10) / 10 : value,
  )
}

/** Signatures are left out, since they are valid for a while; so are custom values, which may be credentials. */
function describeRequest(
  headers: Readonly<Record<string, string>>,
  custom: Readonly<Record<string, string>>,
): string {
  const shown: Record<string, string> = { ...headers, 'webhook-signature': redactedValue }
  if (shown['signature'] !== undefined) shown['signature'] = redactedValue
  for (const name of Object.keys(custom)) shown[name] = redactedValue
  return JSON.stringify(shown)
}

function describeResponse(headers: NodeJS.Dict<string | string[]>): string {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    name === 'set-cookie' ? redactedValue : [value ?? ''].flat().join(', '),
  ])
  return JSON.stringify(Object.fromEntries(shown))
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
