import { invalidBody, Problem } from '../../errors.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import {
  type Attempt,
  type AttemptResult,
  notMade,
  sizeKey,
  type Target,
  targetOf,
} from '../attempt/attempt.ts'
import { readCustomHeaders, showCustomHeaders, methods } from '../subscribers/request-options.ts'
import type { EventPayload } from '../store.ts'
import type { Ran, Sandbox } from './sandbox.ts'
import type { Clock } from '../../runtime/clock.ts'
import { redactedValue } from '../../telemetry/printable.ts'

/** Maximum bytes of the code, and of the body that it returns. */
const longestCode = 16 * 1024
const longestBody = 1024 * 1024
/** Characters, as for a subscriber's URL. */
const longestUrl = 2048
const contentType = /^[!-~]([\t -~]{0,254}[!-~])?$/

/** A subscriber's transformation, and the request that it changes. */
interface Transformation {
  code: string
  key: string
  url: string
  method: Target['method']
  /** Custom headers. The code sees credentials as `[redacted]`, and returns that to send the stored value. */
  headers: Readonly<Record<string, string>>
  /** Whether the subscriber's `auth` sets `authorization`, which the code can neither see nor change. */
  hasAuth: boolean
}

/** An event, as the code sees it. */
export type TransformedEvent = Pick<EventPayload, 'event_id' | 'type' | 'payload'>

/** The request to send. */
interface Changed extends Pick<Transformation, 'url' | 'method'> {
  headers: Record<string, string>
  contentType: string
  /** The headers for display: credentials are redacted. */
  shown: Record<string, string>
  /** Undefined if it is the event's own. */
  body: Buffer | undefined
}

type Transformed = Changed | { canceled: true } | { error: NonNullable<Ran['error']> }

/** The key of the sandbox. Each subscriber without an owner has its own. */
export function keyOf(owner: string | null, id: string): string {
  return owner === null ? `subscriber:${id}` : `owner:${owner}`
}

/**
 * Runs a transformation and checks what it returns. Rejects with the reason of `cut`. Whatever the code does is a result.
 */
export async function transform(
  sandbox: Sandbox,
  transformation: Transformation,
  event: TransformedEvent,
  cut?: AbortBroadcast,
): Promise<Transformed & { durationMs: number }> {
  const { code, key, url, method, headers } = transformation
  const { event_id: eventId, type: eventType, payload } = event
  const shown = { 'content-type': 'application/json', ...showCustomHeaders(headers) }
  const webhook = JSON.stringify({ method, url, headers: shown, eventType, id: eventId, cancel: false })
  const body = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString()
  const ran = await sandbox.run({ key, code, webhook, body, eventId }, cut)
  return { ...checked(ran, transformation), durationMs: ran.durationMs }
}

/** @throws Problem `invalid-body` if the code cannot be compiled or defines no handler; `overloaded`; Error if no sandbox can be started */
export async function checkTransformation(sandbox: Sandbox, code: string, key: string): Promise<void> {
  const isShort = Buffer.byteLength(code) <= longestCode
  const tooLong = { message: `it must be at most ${longestCode / 1024} KiB` }
  const { error }: Pick<Ran, 'error'> = isShort
    ? await sandbox.run({ key, code, webhook: '{}', eventId: '' })
    : { error: tooLong }
  if (error?.notRun === 'overloaded') throw new Problem('overloaded', { retryAfter: 1 })
  if (error?.notRun === 'broken') throw new Error(error.message)
  if (error) throw invalidBody('/transformation', `The transformation is invalid: ${describeError(error)}.`)
}

function describeError({ message, line }: NonNullable<Ran['error']>): string {
  const text = message.replaceAll('\0', '').toWellFormed()
  return line === undefined ? text : `${text} (line ${line})`
}

/** Checks what the sandbox returned. */
function checked({ meta, payload, error }: Ran, transformation: Transformation): Transformed {
  if (error) return { error }
  try {
    const result = JSON.parse(meta!) as Record<string, unknown> | null
    if (typeof result !== 'object' || result === null) throw invalid('handler must return the webhook')
    if (result['cancel'] === true) return { canceled: true }
    return {
      url: urlIn(result['url'], transformation.url),
      method: methodIn(result['method']),
      ...headersIn(result['headers'], transformation),
      body: payload === undefined ? undefined : bodyIn(payload),
    }
  } catch (error) {
    if (error instanceof Problem) return { error: { message: error.message } }
    throw error
  }
}

function methodIn(given: unknown): Target['method'] {
  const method = methods.find((one) => one === given)
  if (method === undefined) throw invalid(`the method must be one of ${methods.join(', ')}`)
  return method
}

function urlIn(given: unknown, before: string): string {
  if (given === before) return before
  const url = typeof given === 'string' && given.length <= longestUrl ? URL.parse(given, before) : null
  if (!url || url.href.length > longestUrl) throw invalid('the URL is not valid')
  if (url.origin !== new URL(before).origin || url.username !== '' || url.password !== '')
    throw invalid('the URL must have the same scheme, host and port as that of the endpoint')
  url.hash = ''
  return url.href
}

function headersIn(
  given: unknown,
  { headers: stored, hasAuth }: Transformation,
): Pick<Changed, 'headers' | 'contentType' | 'shown'> {
  if (typeof given !== 'object' || given === null) throw invalid('the headers must be an object')
  const entries = Object.entries(given).map(
    ([name, value]) => [name.toLowerCase(), value as unknown] as const,
  )
  const wrong = entries.find(([, value]) => typeof value !== 'string')
  if (wrong) throw invalid(`the header ${wrong[0].slice(0, 128)} must be a text`)
  const foreign = entries.find(
    ([name]) => name.startsWith('signature') || (hasAuth && name === 'authorization'),
  )
  if (foreign) throw invalid(`the header ${foreign[0].slice(0, 128)} cannot be set`)
  const type = entries.find(([name]) => name === 'content-type')?.[1] ?? 'application/json'
  if (!contentType.test(type as string)) throw invalid('the content-type is not valid')
  const custom = Object.fromEntries(entries.filter(([name]) => name !== 'content-type')) as Record<
    string,
    string
  >
  return {
    headers: readCustomHeaders(custom, stored),
    contentType: type as string,
    shown: showCustomHeaders(custom),
  }
}

/** @param json a JSON value. A string is sent as plain text */
function bodyIn(json: string): Buffer {
  const body = Buffer.from(json.startsWith('"') ? (JSON.parse(json) as string) : json)
  if (body.length > longestBody) throw invalid(`the body must be at most ${longestBody / 1024 / 1024} MiB`)
  return body
}

function invalid(detail: string): Problem {
  return new Problem('invalid-body', { detail })
}

/** A subscriber's transformation, with what its code must not see. */
export interface EndpointTransformation extends Transformation {
  /** The `authorization` header, which the subscriber's `auth` sets. */
  authorization: string | undefined
}

/** Bytes of a changed body that are stored with the attempt. */
const bodyStored = 64 * 1024

/** For subscribers with a transformation, attempts send what its code returns. Other attempts do not change. */
export function withTransformations(
  attempt: Attempt,
  { sandbox, clock }: { sandbox: Sandbox; clock: Clock },
): Attempt {
  return (request, cut) => {
    const transformation = request.target.special?.transformation
    return transformation ? transformed(transformation, request, cut) : attempt(request, cut)
  }

  async function transformed(
    transformation: EndpointTransformation,
    request: Parameters<Attempt>[0],
    cut: AbortBroadcast,
  ): Promise<AttemptResult> {
    const at = clock.now()
    const result = await transform(sandbox, transformation, request.event, cut)
    if ('error' in result) {
      const message = `the transformation failed: ${describeError(result.error)}`
      return { ...notMade(at, '{}', { kind: 'transformation-failed', message }), response: 'unavailable' }
    }
    // No request was made, so nothing is known about the endpoint.
    if ('canceled' in result) return { ...notMade(at, '{}'), failure: 'canceled', response: 'aborted' }
    const { url, method, headers, contentType, shown, body } = result
    const { authorization } = transformation
    const isCut = body !== undefined && body.length > bodyStored
    const target = targetOf(url, authorization === undefined ? headers : { ...headers, authorization }, {
      method,
      special: request.target.special,
      contentType,
      shown: {
        ...shown,
        ...(authorization !== undefined && { authorization: redactedValue }),
        ...(isCut && { [sizeKey]: String(body.length) }),
      },
    })
    const event = body === undefined ? request.event : { ...request.event, payload: body }
    const made = await attempt({ ...request, target, event }, cut)
    return body === undefined ? made : { ...made, requestBody: body.subarray(0, bodyStored) }
  }
}
