import { errorOf } from './errors.ts'

/** As the global `fetch`. */
export type Fetch = (input: string, init?: RequestInit) => Promise<Response>

export interface HttpOptions {
  fetch?: Fetch | undefined
  /** Milliseconds. */
  timeout: number
}

/** Milliseconds. With more than 31 bits, timers end at once. */
export const longestTimer = 2 ** 31 - 1

/**
 * The address of a path of the service, which may be below a base path of its own. In a browser `url` may be empty or a path.
 * @throws TypeError for an address without its scheme, which `fetch` would take for a service that cannot be reached.
 */
export function addressOf(url: string, path: string): string {
  if (!/^(?:https?:\/\/[^/]|\/|$)/i.test(url))
    throw new TypeError(`the address of the service begins with https:// or http://, unlike ${url}`)
  return url.replace(/(?<!\/)\/+$/, '') + path
}

/**
 * One request, ended after `timeout` milliseconds, the body of the answer included, or by the caller's signal. Redirects are not
 * followed, so that a credential goes nowhere else.
 * @throws UnavailableError `timeout` or `unreachable`; the reason of the caller's signal when that ended it.
 */
export async function send<T>(
  address: string,
  init: RequestInit,
  { fetch = globalThis.fetch, timeout }: HttpOptions,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const control = new AbortController()
  const given = init.signal ?? undefined
  let late = false
  const timer = setTimeout(
    () => {
      late = true
      control.abort()
    },
    Math.min(timeout, longestTimer),
  )
  const abort = (): void => control.abort(given?.reason)
  given?.addEventListener('abort', abort)
  if (given?.aborted === true) abort()
  try {
    const response = await fetch(address, { redirect: 'manual', ...init, signal: control.signal })
    return await read(response)
  } catch (cause) {
    if (given?.aborted === true) throw given.reason
    if (late) throw errorOf('timeout', 503, { detail: `No answer within ${timeout} ms.`, cause })
    // What `read` throws on purpose is passed on; a failed fetch is a TypeError, or a DOMException where the network broke.
    if (cause instanceof TypeError || (cause as Error | null)?.name === 'AbortError')
      throw errorOf('unreachable', 503, { detail: 'The service cannot be reached.', cause })
    throw cause
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', abort)
  }
}

/** The body as a JSON object. @throws UnavailableError `unexpected-answer` */
export async function readObject<T extends object>(response: Response): Promise<T> {
  let cause: unknown
  try {
    const body: unknown = await response.json()
    if (typeof body === 'object' && body !== null) return body as T
  } catch (error) {
    cause = error
  }
  const detail = `The answer (${response.status}) is not a JSON object.`
  throw errorOf('unexpected-answer', 502, { detail, cause })
}

/** A request header of a Web Request, of Node's IncomingMessage, or of Headers themselves. */
export type HeaderSource =
  | { headers: Headers | Readonly<Record<string, string | string[] | undefined>> }
  | Headers

/** The value of a header; several are joined by a comma, as Headers does. @param name in lower case */
export function headerOf(source: HeaderSource, name: string): string | undefined {
  const headers = isHeaders(source) ? source : source.headers
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  // Node writes names in lower case; gateways of functions pass them on as the sender or a proxy wrote them.
  const written = name in headers ? name : Object.keys(headers).find((one) => one.toLowerCase() === name)
  const value = written === undefined ? undefined : headers[written]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Also of other implementations of Headers than this one's. */
function isHeaders(value: object): value is Headers {
  return typeof (value as { get?: unknown }).get === 'function'
}
