import { errorOf, errorOfResponse } from '../errors.ts'
import { addressOf, send, type Fetch } from '../http.ts'
import type { Calls } from './calls.ts'
import { withRetries } from './retry.ts'
import type { AnswerOf, Arguments, CallOf, FreeOptions, ListPathOf, Method, PathOf, RowOf } from './types.ts'

export interface ClientOptions {
  /** The address of the service, such as `https://gate.example.com`. */
  url: string
  /** An API key or an access token; a function is asked before each call, for instance `getAccessToken`. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined
  fetch?: Fetch | undefined
  /** Milliseconds for one attempt. Default 10,000. */
  timeout?: number | undefined
  /** Attempts after a failed first one, of calls that may be repeated. Default 3. */
  retries?: number | undefined
  /** Seconds that a Retry-After may ask to wait; a longer one is thrown as an error. Default 30. */
  longestWait?: number | undefined
}

/** The calls of the service. `C` describes them; generate your own with `postern-client URL`, when you declare lists. */
export interface Client<C = Calls> {
  get: <P extends PathOf<C, 'GET'>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'GET', P>>
  ) => Promise<AnswerOf<CallOf<C, 'GET', P>>>
  post: <P extends PathOf<C, 'POST'>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'POST', P>>
  ) => Promise<AnswerOf<CallOf<C, 'POST', P>>>
  patch: <P extends PathOf<C, 'PATCH'>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'PATCH', P>>
  ) => Promise<AnswerOf<CallOf<C, 'PATCH', P>>>
  put: <P extends PathOf<C, 'PUT'>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'PUT', P>>
  ) => Promise<AnswerOf<CallOf<C, 'PUT', P>>>
  delete: <P extends PathOf<C, 'DELETE'>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'DELETE', P>>
  ) => Promise<AnswerOf<CallOf<C, 'DELETE', P>>>
  /** All rows of a list, page after page, fetched as they are read. */
  list: <P extends ListPathOf<C>>(
    path: P,
    ...rest: Arguments<CallOf<C, 'GET', P & string>>
  ) => AsyncGenerator<RowOf<CallOf<C, 'GET', P & string>>, void>
  /** A call that the types do not describe. */
  request: <T = unknown>(method: Method, path: string, options?: FreeOptions) => Promise<T>
}

/**
 * Calls the service over HTTP. All errors are PosternErrors, except the reason of a signal that was aborted, and TypeErrors for what
 * no call can be made of: an address without `https://`, a path without its `params`, a body that is no JSON, and `retries` or
 * `longestWait` that is not a number of 0 or more.
 */
export function createClient<C = Calls>(options: ClientOptions): Client<C> {
  const { retries = 3, longestWait = 30 } = options
  for (const [name, value] of Object.entries({ retries, longestWait }))
    if (!(value >= 0)) throw new TypeError(`${name} is ${value}, but must be a number of 0 or more`)
  const make = (read: Read, method: Method, path: string, call: FreeOptions = {}): Promise<unknown> => {
    const repeatable = mayRepeat(method, call)
    const retry = { retries: repeatable ? retries : 0, longestWait, signal: call.signal }
    return withRetries(() => attempt(options, method, path, call, read), retry)
  }
  const request = (method: Method, path: string, call?: FreeOptions) => make(readAnswer, method, path, call)
  const bound = (method: Method) => (path: string, call?: FreeOptions) =>
    make(readDescribed, method, path, call)
  const client = {
    get: bound('GET'),
    post: bound('POST'),
    patch: bound('PATCH'),
    put: bound('PUT'),
    delete: bound('DELETE'),
    list: (path: string, call?: FreeOptions) => rows(request, path, call),
    request,
  }
  return client as unknown as Client<C>
}

/** RFC 9110, section 9.2.2; a POST by the caller's word. */
function mayRepeat(method: Method, { idempotent }: FreeOptions): boolean {
  return idempotent ?? (method !== 'POST' && method !== 'PATCH')
}

type Read = (response: Response) => Promise<unknown>

async function attempt(
  options: ClientOptions,
  method: Method,
  path: string,
  call: FreeOptions,
  read: Read,
): Promise<unknown> {
  const { url, token, fetch, timeout = 10_000 } = options
  const credential = typeof token === 'function' ? await token() : token
  const { params = {}, query = {}, body, signal } = call
  const headers: Record<string, string> = { accept: 'application/json' }
  if (credential !== undefined) headers['authorization'] = bearer(credential)
  if (body !== undefined) headers['content-type'] = 'application/json'
  const init: RequestInit = { method, headers }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal !== undefined) init.signal = signal
  return send(addressOf(url, fill(path, params) + search(query)), init, { fetch, timeout }, read)
}

/** @throws TypeError for a token that no header can hold. That of `fetch` would repeat the token. */
function bearer(token: string): string {
  const text = token.trim()
  if (/[^\x21-\x7e]/.test(text)) throw new TypeError('the token has a character that no token has')
  return `Bearer ${text}`
}

/** Fills the `{names}` of a path. @throws TypeError when one is missing. */
function fill(path: string, params: Readonly<Record<string, string | number>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name]
    // An empty segment, and one of dots, would name another path.
    if (value === undefined || /^\.{0,2}$/.test(String(value)))
      throw new TypeError(`params.${name} is missing`)
    return encodeURIComponent(value)
  })
}

function search(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of [value as string | number | boolean | null | undefined].flat())
      if (one !== undefined && one !== null) parameters.append(name, String(one))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

/** The answer of a call that the types describe: JSON, or `undefined` without content. */
async function readDescribed(response: Response): Promise<unknown> {
  const answer = await readAnswer(response)
  const type = typeOf(response)
  if (answer === undefined || isJson(type)) return answer
  if (answer === '') return undefined
  // Servers of pages answer 200 to every path: without this, an event sent to one would look emitted.
  throw errorOf('unexpected-answer', 502, { detail: `The answer is ${type || 'a text'}, and not JSON.` })
}

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status >= 400) throw await errorOfResponse(response)
  // With redirect: 'manual', a browser shows nothing of a redirect but its type.
  if (response.status >= 300 || response.type === 'opaqueredirect')
    throw errorOf('unexpected-answer', 502, {
      detail: `The service redirected the call (${response.status}).`,
    })
  if (response.status === 204) return undefined
  const text = await response.text()
  return isJson(typeOf(response)) ? parse(text) : text
}

const typeOf = (response: Response): string => response.headers.get('content-type') ?? ''
const isJson = (type: string): boolean => /[/+]json\b/.test(type)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw errorOf('unexpected-answer', 502, { detail: 'The answer is not the JSON that it says.', cause })
  }
}

/** The three forms of a page: cursor, keyset, offset. A list without pages has none of them. */
export interface Page {
  data: unknown[]
  pageInfo?: { nextCursor: string | null }
  nextCursor?: string | null
  pagination?: { page: number; hasNext: boolean }
}

async function* rows(
  request: (method: Method, path: string, call: FreeOptions) => Promise<unknown>,
  path: string,
  call: FreeOptions = {},
): AsyncGenerator<unknown, void> {
  let next: NextPage | undefined = {}
  while (next) {
    const page = (await request('GET', path, { ...call, query: { ...call.query, ...next } })) as Page
    if (!Array.isArray(page?.data)) throw errorOf('unexpected-answer', 502, { detail: `${path} is no list.` })
    yield* page.data
    const following = nextPage(page)
    if (following !== undefined && following.cursor === next.cursor && following.page === next.page)
      throw errorOf('unexpected-answer', 502, { detail: `${path} names a page as its own next one.` })
    next = following
  }
}

/** The parameters that select a page; none for the first one. */
export interface NextPage {
  cursor?: string
  page?: number
}

/** The parameters of the next page; `undefined` after the last one. A page of a search may be empty and not be the last. */
export function nextPage({ pageInfo, nextCursor, pagination }: Page): NextPage | undefined {
  const cursor = pageInfo?.nextCursor ?? nextCursor
  if (cursor !== undefined && cursor !== null) return { cursor }
  return pagination?.hasNext === true ? { page: pagination.page + 1 } : undefined
}
