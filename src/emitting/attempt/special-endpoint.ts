import type { ExchangeRequest, Outcome, OutboundAgent } from '../../network/exchange.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RequestOptions } from '../subscribers/request-options.ts'
import type { EndpointTransformation } from '../transformations/transformation.ts'
import type { Failure } from './failures.ts'
import type { OAuthTokens } from './oauth-tokens.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import type { DestinationContext, DestinationDeclaration } from '../config.ts'
import type { EventPayload } from '../store.ts'
import type { AttemptResult } from './attempt.ts'

/** What the attempts of a subscriber need beyond those of others. */
export interface SpecialEndpoint {
  /** Its own connections, with its client certificate or certificate authority. */
  agent?: OutboundAgent | undefined
  tokens?: OAuthTokens | undefined
  gzip: boolean
  /** The prefix of the signature headers. Default: webhook */
  signatureHeaders?: RequestOptions['signatureHeaders']
  /** Whether the body is only the event's data. */
  bare?: boolean
  /** Gets the events in place of a server. */
  destination?: DestinationCall | undefined
  transformation?: EndpointTransformation | undefined
  succeeds?: ((status: number) => boolean) | undefined
  isFinal?: ((status: number) => boolean) | undefined
}

/** The reason of an exchange that was aborted at its time-out. */
export class OutOfTime extends Error {}

/**
 * Sends a request with an access token. If the endpoint answers 401 to a token that was used before, sends it once more with a new one.
 * Rejects with the reason of `cut`.
 */
export async function sendWithToken(
  tokens: OAuthTokens,
  agent: OutboundAgent,
  request: ExchangeRequest,
  { clock, timeout }: Pick<Delivery, 'clock' | 'timeout'>,
  cut: AbortBroadcast,
): Promise<Outcome | { failure: Failure }> {
  const end = clock.now() + timeout
  for (let sent = 1; ; sent += 1) {
    const got = await within(tokens.get(), end - clock.now(), clock, cut)
    if (got === undefined)
      return { failure: { kind: 'token-failed', message: `no access token within ${timeout / 1000} s` } }
    if ('failure' in got) return got
    if (cut.reason) throw cut.reason
    const headers = { ...request.headers, authorization: `Bearer ${got.token}` }
    const exchange = agent.exchange({ ...request, headers })
    const unlisten = cut.onAbort((reason) => exchange.cut(reason))
    const cancel = clock.after(Math.max(0, end - clock.now()), () => exchange.cut(new OutOfTime()))
    const outcome = await exchange.ended
    cancel()
    unlisten()
    if (outcome.status !== 401 || cut.reason) return outcome
    tokens.reject(got.token)
    // A token that others fetched meanwhile may be rejected as well.
    if (got.fresh || sent === 2) return outcome
  }
}

/** The result of `promise`, or undefined after `ms` milliseconds. Rejects with the reason of `cut`. */
function within<T>(
  promise: Promise<T>,
  ms: number,
  clock: Clock,
  cut: AbortBroadcast,
): Promise<T | undefined> {
  if (cut.reason) return Promise.reject(cut.reason)
  return new Promise((resolve, reject) => {
    const unlisten = cut.onAbort(reject)
    const cancel = clock.after(Math.max(0, ms), () => done(undefined))
    const done = (result: T | undefined): void => {
      cancel()
      unlisten()
      resolve(result)
    }
    // oxlint-disable-next-line promise/no-callback-in-promise
    void promise.then(done, reject)
  })
}

/** A subscriber's use of a declared destination. */
export interface DestinationCall extends Omit<DestinationContext, 'signal'> {
  declared: DestinationDeclaration
  /** Number of calls that exceeded the timeout and are still running. */
  overdue: number
}

/** Maximum number of a subscriber's calls that run beyond their timeout. Each holds memory and connections. */
const mostOverdue = 100
/** Maximum characters stored of what `deliver` returns, and of an error. */
const [longestShown, longestError] = [4_096, 500]

interface Delivery {
  headers: Readonly<Record<string, string>>
  /** The number of the attempt. */
  number: number
  /** Milliseconds after which the attempt fails, even if the call ignores its signal. */
  timeout: number
  clock: Clock
}

/** The fields that differ from those of an attempt without a request. */
type Ended = Pick<AttemptResult, 'error' | 'failure' | 'durationMs' | 'response'> & Partial<AttemptResult>

/** Calls `deliver`. Rejects with the reason of `cut` if that aborts the call. Whatever the destination does is a result. */
export function deliverTo(
  call: DestinationCall,
  event: EventPayload,
  { headers, number, timeout, clock }: Delivery,
  cut: AbortBroadcast,
): Promise<Ended> {
  const began = clock.now()
  const { declared, overdue, settings, secrets, subscriber } = call
  const seconds = timeout / 1000
  if (overdue >= mostOverdue) {
    const error = `${overdue} earlier calls exceeded the timeout of ${seconds} s and are still running`
    return Promise.resolve({ ...timedOut, error, durationMs: 0 })
  }
  const passed = {
    id: event.event_id,
    type: event.type,
    timestamp: timestampIn(event.payload),
    // A copy, because other subscribers get the same bytes.
    payload: Buffer.from(event.payload),
    headers,
    attempt: number,
  }
  return new Promise((resolve, reject) => {
    const aborter = new AbortController()
    let isOpen = true
    const end = (then: () => void): void => {
      if (!isOpen) return void (call.overdue -= 1)
      isOpen = false
      cancel()
      unlisten()
      then()
    }
    const leave = (reason: Error, then: () => void): void => {
      end(then)
      call.overdue += 1
      aborter.abort(reason)
    }
    const settle = (ended: Omit<Ended, 'durationMs'>): void =>
      end(() => resolve({ ...ended, durationMs: Math.max(0, Math.round(clock.now() - began)) }))
    const unlisten = cut.onAbort((reason) => leave(reason, () => reject(reason)))
    const cancel = clock.after(timeout, () => {
      const error = `deliver did not end within ${seconds} s`
      leave(new Error(error), () => resolve({ ...timedOut, error, durationMs: timeout }))
    })
    const context = { signal: aborter.signal, settings, secrets, subscriber }
    void (async () => {
      try {
        const returned = await declared.deliver(passed, context)
        settle({ error: null, failure: null, response: 'answered', responseBody: shown(returned, secrets) })
      } catch (error) {
        settle(failureOf(error, secrets))
      }
    })()
  })
}

const timedOut = { failure: 'destination-timeout', response: 'no-response' } as const

function failureOf(thrown: unknown, secrets: DestinationContext['secrets']): Omit<Ended, 'durationMs'> {
  const { message, permanent, retryAfter } = (thrown ?? {}) as Record<string, unknown>
  const text = typeof message === 'string' && message !== '' ? message : 'deliver failed without a message'
  return {
    error: hide(text, secrets).replaceAll('\0', '').toWellFormed().slice(0, longestError),
    failure: 'destination-failed',
    response: permanent === true ? 'answered' : 'unavailable',
    ...(permanent === true && { directive: 'abort-message' }),
    ...(typeof retryAfter === 'number' && retryAfter > 0 && { retryAfter: retryAfter * 1000 }),
  }
}

/** Null if nothing was returned, or something that JSON cannot represent. */
function shown(returned: unknown, secrets: DestinationContext['secrets']): Buffer | null {
  try {
    const text = typeof returned === 'string' ? returned : JSON.stringify(returned)
    return text ? Buffer.from(hide(text, secrets).slice(0, longestShown)) : null
  } catch {
    return null
  }
}

/** Libraries put URLs with passwords into their messages. */
function hide(text: string, secrets: DestinationContext['secrets']): string {
  return Object.values(secrets).reduce(
    (rest, secret) =>
      rest.replaceAll(secret, redactedValue).replaceAll(JSON.stringify(secret).slice(1, -1), redactedValue),
    text,
  )
}

/** The payload begins with id, type and timestamp. Quotation marks within strings are escaped, so the first match is the timestamp. */
function timestampIn(payload: Uint8Array): string {
  const head = Buffer.from(payload.buffer, payload.byteOffset, Math.min(payload.length, 1_024)).toString()
  return /"timestamp":"([^"]+)"/.exec(head)?.[1] ?? ''
}
