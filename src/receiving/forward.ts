import type { Clock } from '../runtime/clock.ts'
import { HmacKey } from '../crypto/secrets.ts'
import { errorOf, type ExchangeRequest, type OutboundAgent } from '../network/exchange.ts'
import { readRetryAfter } from '../runtime/retry-schedule.ts'
import type { Handler, ReceivedEvent } from './config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { anywhere, faultOfDestination } from '../network/egress.ts'
import { decodeKey } from './schemes/digest.ts'

interface ForwardRequest extends Pick<ExchangeRequest, 'headers' | 'body'> {
  url: string
  signal: AbortSignal
}

interface ForwardAnswer {
  status: number
  /** Milliseconds to wait, from the receiver's Retry-After. */
  retryAfter: number | undefined
  /** The beginning of a response other than 2xx. */
  text: string
}

/** The receiver did not accept an event. */
class NotTaken extends Error {
  readonly retryAfter: number | undefined

  constructor(url: string, { status, retryAfter, text }: ForwardAnswer) {
    super(`${new URL(url).origin} answered ${status}${text === '' ? '' : `: ${text}`}`)
    this.name = 'NotTaken'
    this.retryAfter = retryAfter
  }
}

/** Returns the milliseconds to wait that the receiver asked for, if it caused the error. */
export function askedToWait(error: unknown): number | undefined {
  return error instanceof NotTaken ? error.retryAfter : undefined
}

/**
 * Makes a handler that posts the original bytes to another service, signed by Standard Webhooks with each of the keys. Any response
 * other than 2xx is a failure. The agent may allow private addresses, since the operator configures the targets.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function forwardTo(
  url: string,
  keys: readonly Uint8Array[],
  agent: OutboundAgent,
  clock: Clock,
): Handler {
  const macs = keys.map((key) => new HmacKey('sha256', key))
  return async (event, { signal }) => {
    // The same for all attempts, so that the receiver detects duplicates. A dot would end the id in the signed text.
    const id = encodeURIComponent(event.id).replaceAll('.', '%2E')
    // The time of this attempt: receivers refuse old times as replays.
    const timestamp = String(Math.floor(clock.now() / 1000))
    const signed = `${id}.${timestamp}.`
    const signatures = macs.map((mac) => `v1,${mac.digest(signed, event.raw).toString('base64')}`)
    const headers = {
      'content-type': 'application/octet-stream',
      ...sendersHeaders(event),
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
      'webhook-source': event.source,
      'webhook-type': encodeURIComponent(event.type),
    }
    const answer = await post(agent, clock, { url, headers, body: event.raw, signal })
    if (answer.status < 200 || answer.status > 299) throw new NotTaken(url, answer)
  }
}

/** Headers of proxies about the sender. A receiver would read them as if they were about Postern. */
const ofProxies = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|proxy-.*)$/

function sendersHeaders({ headers }: ReceivedEvent): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofProxies.test(name)))
}

/** The most bytes of a response that are read, and the milliseconds for it. Only the status matters. */
const answerLimit = 64 * 1024
const answerTime = 5_000
/** The most characters of a refusal that are stored with the event. */
const textLimit = 500

/** Sends until `signal` is aborted. Redirects are not followed, so they are failures. */
async function post(
  agent: OutboundAgent,
  clock: Clock,
  { url, signal, ...request }: ForwardRequest,
): Promise<ForwardAnswer> {
  const { origin, pathname, search } = new URL(url)
  let take!: (status: number) => void
  const taken = new Promise<number>((resolve) => (take = resolve))
  let cancel: (() => void) | undefined
  const exchange = agent.exchange({
    origin,
    path: pathname + search,
    method: 'POST',
    ...request,
    responseLimit: answerLimit,
    answered(status) {
      cancel = clock.after(answerTime, () => exchange.cut(new Error('the answer did not end')))
      // Its body is read so that the connection can be used again, without waiting for a slow one.
      if (status <= 299) take(status)
    },
  })
  const ended = exchange.until(signal).finally(() => cancel?.())
  const outcome = await Promise.race([taken, ended])
  if (typeof outcome === 'number') {
    // The abort of a signal that outlives the answer is no failure.
    ended.catch(() => undefined)
    return { status: outcome, retryAfter: undefined, text: '' }
  }
  const { status, headers: answer, body: text } = outcome
  // The status is known also if the answer was cut off.
  if (status === null) throw errorOf(outcome)
  const retryAfter = readRetryAfter([answer?.['retry-after']].flat()[0], clock.now())
  return { status, retryAfter, text: (text?.toString('utf8') ?? '').trim().slice(0, textLimit) }
}

/** An address for the events of a source, with your own secret. */
export interface ForwardTarget {
  url: string
  /**
   * Signs the requests by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Several secrets, in an array or separated by
   * commas, all sign, so that the receiver can change from one to the next at any time.
   */
  secret: string | readonly string[]
}

/** For an address alone, the secret is derived from POSTERN_SECRET; `postern sources` prints it. */
export type ForwardTo = string | ForwardTarget

const prefix = 'whsec_'
/** Standard Webhooks: between 192 and 512 bits. */
const bounds = { least: 24, most: 64 }
const purpose = 'forwarded-webhooks'

export function urlOf(target: ForwardTo): string {
  return typeof target === 'string' ? target : target.url
}

/** Returns the fault of a target as words that follow the source's name, without the secret; `undefined` if it is valid. */
export function faultOfTarget(given: unknown): string | undefined {
  const { url, secret } = (typeof given === 'string' ? { url: given } : (given ?? {})) as Partial<
    Record<'url' | 'secret', unknown>
  >
  if (typeof url !== 'string') return 'has a forwardTo that is not an http address'
  const fault = faultOfDestination(url, anywhere)
  if (fault) return `has a forwardTo that cannot be used: ${fault}`
  if (typeof given === 'string') return undefined
  const secrets = typeof secret === 'string' || Array.isArray(secret) ? split(secret) : []
  if (secrets.length === 0)
    return 'has a forwardTo without a secret: is its environment variable set? For an address alone, Postern derives a secret'
  if (!secrets.every((one) => typeof one === 'string' && readKey(one)))
    return `has a forwardTo whose secret is not ${prefix} and the base64 of ${bounds.least} to ${bounds.most} bytes`
  return undefined
}

/** Returns the signing keys, at least one. During a rotation of POSTERN_SECRET, each master key derives one. */
export function keysOf(
  target: ForwardTo,
  source: string,
  keyring: Keyring,
): readonly [Uint8Array, ...Uint8Array[]] {
  if (typeof target === 'string') return keyring.derived(source, purpose)
  const [first, ...others] = split(target.secret).flatMap((one) => readKey(one) ?? [])
  if (!first) throw new Error(`receiving.sources.${source} has a forwardTo without a secret`)
  return [first, ...others]
}

/** Returns a key in the format of the receiver's library. */
export function writeKey(key: Uint8Array): string {
  return prefix + Buffer.from(key).toString('base64')
}

function split(secret: string | readonly string[]): string[] {
  const given = typeof secret === 'string' ? secret.split(',').map((one) => one.trim()) : [...secret]
  return given.filter((one) => one !== '')
}

function readKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined
  const key = decodeKey(secret.slice(prefix.length))
  return key && key.length >= bounds.least && key.length <= bounds.most ? key : undefined
}

/** Removes user, password and query, which may be secrets. */
export function withoutCredentials(address: string): string {
  const { origin, pathname } = new URL(address)
  return origin + pathname
}
