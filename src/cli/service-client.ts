import { CommandFailure, UsageFailure } from './command-failure.ts'
import { readClientSettings } from './settings.ts'
import { printable } from '../telemetry/printable.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'

export interface ClientOptions {
  /** The address of the service. Default: that of the settings. */
  url?: string
  /** An API key. Default: ADMIN_API_KEY. */
  key?: string
  /** The advice in the message when the key is rejected. */
  keyAdvice?: string
}

export type ServiceClient = ReturnType<typeof serviceClient>

/** A client of a service's HTTP interface. */
export function serviceClient(options: ClientOptions) {
  const settings = readClientSettings()
  // It may have a path.
  const service = (options.url ?? settings.service).replace(/\/$/, '')
  const key = options.key ?? settings.adminApiKey
  if (!/^https?:$/.test(URL.parse(service)?.protocol ?? ''))
    throw new UsageFailure(`${service} is not a URL such as https://gate.example.com`)
  const advice = options.url === undefined ? adviceOnAddress : undefined
  /** Calls the service with the key. @throws Unavailable; CommandFailure for any other answer that is no 2xx */
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
    const response = await call(service + path, { ...init, headers, redirect: 'manual' }, advice)
    if (response.ok) return response
    const { status } = response
    const text = await wordsOf(response)
    if (status === 401 || status === 403)
      throw new CommandFailure(
        `${service} rejected the API key (${status} ${text}): ${options.keyAdvice ?? 'pass --key with the scope that --help names'}`,
      )
    const failure = `${service}${path.split('?')[0]} returned HTTP ${status} ${text}`.trimEnd()
    throw status === 429 || status >= 500 ? new Unavailable(failure) : new CommandFailure(failure)
  }
  /** Returns the JSON of an answer. @param query undefined parameters are left out */
  const read = async <Answer>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>> = {},
    init?: RequestInit,
  ): Promise<Answer> => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    const response = await request(text === '' ? path : `${path}?${text}`, init)
    return (await response.json()) as Answer
  }
  return { service, hasKey: key !== undefined, request, read }
}

/** Milliseconds for the whole exchange. */
const limit = 15_000

/** Nobody answers. The call may be repeated. */
export class Unavailable extends CommandFailure {}

/** What to do if nobody answers at an address that the command took from the settings. */
export const adviceOnAddress =
  'The address is that of BASE_URL, or of PORT on this machine: start the service, set PORT to its port, or pass --url.'

/**
 * As fetch, within 15 seconds.
 * @param advice a sentence that follows when nobody answers
 * @throws Unavailable that names the address and the cause when nobody answers
 */
export async function call(url: string, init: RequestInit, advice?: string): Promise<Response> {
  try {
    const signals = [AbortSignal.timeout(limit), ...(init.signal ? [init.signal] : [])]
    return await fetch(url, { ...init, signal: AbortSignal.any(signals) })
  } catch (error) {
    const { name, cause } = error as Error
    const why =
      name === 'TimeoutError' ? `no response within ${limit / 1000} seconds` : causeInWords(cause ?? error)
    const failure = `${url} does not respond: ${why}`
    throw new Unavailable(advice === undefined ? failure : `${failure}. ${advice}`, { cause: error })
  }
}

/** An answer for a person: of a problem, what it says and its request ID; of anything else the beginning. */
async function wordsOf(response: Response): Promise<string> {
  const text = await textToShow(response)
  try {
    const { code, title, detail, advice, requestId } = JSON.parse(text) as Record<string, string | undefined>
    if (code && title && advice)
      return printable(`${code}: ${detail ?? `${title}.`} ${advice} Request ID: ${requestId}`)
  } catch {
    // It is no JSON.
  }
  return text.slice(0, 500)
}

/** Bytes of an answer that are read. */
const mostRead = 64 * 1024

/** The beginning of an answer's text, safe to print on one line. */
export async function textToShow(response: Response, characters = 2_000): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= mostRead) break
    }
  } catch (error) {
    // The status, and the text as far as it came, are enough.
    if (chunks.length === 0) return `(the answer was cut off: ${printable(causeInWords(error))})`
  }
  return printable(Buffer.concat(chunks).toString('utf8').slice(0, characters))
}
