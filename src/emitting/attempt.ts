import type { OutboundAgent } from '../network/outbound-agent.ts'
import type { Clock } from '../clock.ts'
import { version } from '../http/openapi.ts'
import { redactedValue } from './custom-headers.ts'
import { explainFailure } from './failures.ts'
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
}

/** Makes one attempt. Never rejects for what the subscriber does; rejects with the signal's reason when that is aborted. */
export type Attempt = (request: AttemptRequest, signal: AbortSignal) => Promise<AttemptResult>

/** Aborts the exchange when its time is over. */
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
    const aborter = new AbortController()
    const onStop = (): void => aborter.abort(signal.reason)
    if (signal.aborted) throw signal.reason
    signal.addEventListener('abort', onStop, { once: true })
    const cancel = clock.after(timeout, () => aborter.abort(new OutOfTime()))

    const result: AttemptResult = {
      at,
      durationMs: 0,
      status: null,
      error: null,
      requestHeaders: describeRequest(headers, customHeaders),
      responseHeaders: null,
      responseBody: null,
    }
    try {
      const response = await agent.request({
        origin,
        path: pathname + search,
        method: 'POST',
        headers,
        body: event.payload,
        signal: aborter.signal,
      })
      result.status = response.statusCode
      result.responseHeaders = describeResponse(response.headers)
      result.retryAfter = readRetryAfter(first(response.headers['retry-after']), clock.now())
      result.responseBody = await readStart(response.body)
      if (response.statusCode < 200 || response.statusCode > 299)
        result.error = explainStatus(response.statusCode, first(response.headers['location']))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      result.error =
        aborter.signal.reason instanceof OutOfTime
          ? explainTimeout(timeout, result.status)
          : explainFailure(error)
    } finally {
      cancel()
      signal.removeEventListener('abort', onStop)
      result.durationMs = Math.max(0, Math.round(clock.now() - at))
    }
    return result
  }
}

/** The first 64 KiB. What follows is not waited for. */
async function readStart(body: AsyncIterable<Uint8Array> & NodeJS.EventEmitter): Promise<Buffer | null> {
  // Leaving the loop early destroys the body, which it reports as an error that nobody needs.
  body.on('error', () => undefined)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= responseLimit) break
  }
  return size === 0 ? null : Buffer.concat(chunks).subarray(0, responseLimit)
}

function explainStatus(status: number, location: string | undefined): string {
  if (status >= 300 && status <= 399) {
    return `answered ${status}${location === undefined ? '' : ` to ${location.slice(0, 500)}`}: redirects are not followed; register the final address`
  }
  if (status === 410) return 'answered 410 Gone: the subscriber was disabled'
  return `answered ${status}`
}

function explainTimeout(timeout: number, status: number | null): string {
  const limit = `${timeout / 1000} s`
  return status === null ? `no answer within ${limit}` : `the answer's body did not end within ${limit}`
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
