import type { IncomingHttpHeaders } from 'node:http'
import type { GuardedFetch } from '../../network/guarded-fetch.ts'
import type { Weakness } from '../../config/secret-strength.ts'
import type { ReceivedEvent } from '../config.ts'
import type { ForwardTo } from '../forward.ts'

/** A request. `now` is milliseconds since 1970. */
export interface Delivery {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  readonly now: number
  /** The public address of the request, with its query: some senders sign it. */
  readonly url?: string
  /** The bytes as they were sent, if the body was compressed. */
  readonly sent?: Buffer
}

/** A response to the sender instead of `{"received":true}`. */
export interface Reply {
  readonly status: number
  readonly body: string
  /** Absent if there is no body. */
  readonly contentType?: string
}

/** The sender's id of the event, which its retries repeat, and the type, by which handlers are selected. */
export interface Accepted {
  readonly id: string
  readonly type: string
  /** For senders that evaluate the response. */
  readonly reply?: Reply
  /** The position of the secret that verified, among those of the source, from 1. */
  readonly secret?: number
  /** The time that the sender signed, in milliseconds since 1970. */
  readonly signedAt?: number
  /** The event's bytes and their media type, if they are not those of the request. */
  readonly content?: { readonly bytes: Buffer; readonly type: string }
  /** Further events of the same request. They are stored before it is answered. */
  readonly others?: readonly Pick<Accepted, 'id' | 'type' | 'content'>[]
}

/** Why a signature does not prove that the sender sent the delivery now. */
type SignatureFault =
  | 'signature-missing'
  | 'signature-wrong'
  | 'no-valid-secret'
  | 'timestamp-too-old'
  | 'timestamp-in-future'
  | 'address-not-allowed'

/**
 * Why a delivery is refused. `signature`: nothing proves its sender; the answer is 401. `malformed`: it is not an event, and
 * this may be said to its sender; the answer is 400. The detail is for logs and for the 400.
 */
export interface Rejected {
  readonly rejected: 'signature' | 'malformed'
  readonly detail: string
  /** For `signature`. Default: `signature-wrong`. */
  readonly fault?: SignatureFault
}

/** The request is the sender's check of the URL. It is answered and not stored. */
export interface Answered {
  readonly answer: Reply
  /** For the log: what the administrator must do with the check. */
  readonly note?: string
}

/** A key that verifies the delivery, or its sender's confirmation, must be fetched first; then `verify` is called again. */
export interface FetchFirst {
  /** Rejects if the answer cannot be had now. */
  readonly fetchFirst: (fetch: GuardedFetch) => Promise<void>
}

export type VerificationResult = Accepted | Rejected | Answered | FetchFirst

export type Verify = (delivery: Delivery) => VerificationResult

/** A GET or HEAD by which a sender verifies the address. */
export interface Question {
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly now: number
  /** Default GET. */
  readonly method?: string
}

/** The place of a text: a header, or a path in the JSON body such as `data.id`. */
export type Place = { header: string } | { body: string }

/** A verified event that is not stored yet, as handlers would get it. */
type ArrivedEvent = Pick<ReceivedEvent, 'id' | 'type' | 'source' | 'payload' | 'raw' | 'headers'>

/** How a sender checks the address before it sends webhooks, by declaration. Nothing of it is stored. */
export interface AddressCheck {
  /** A GET, or a HEAD, gets an empty 200. */
  get?: boolean
  head?: boolean
  /**
   * Where a challenge is that is returned: a parameter of a GET, a header of a GET, or a field of the JSON of a POST that has no
   * signature.
   */
  challenge?: { query: string } | { header: string } | { body: string }
  /** The field of a JSON response that has the challenge. Default: plain text, and for a POST the field of the request. */
  reply?: string
  /** A parameter of the GET that must have this value. */
  token?: { query: string; value: string }
}

/** What every source can be declared with, however its sender proves itself. */
export interface CommonOptions {
  /** Answers the requests by which the sender checks the address. Presets of senders that do so answer them without it. */
  verify?: AddressCheck
  /**
   * What the sender signs of a body that it compresses (`Content-Encoding`: gzip, deflate, br): the `plain` bytes (default) or the
   * `compressed` ones. Sources that accept every media type store compressed bodies as they are, unless this is declared.
   */
  signedBody?: 'plain' | 'compressed'
  /**
   * Drops verified events before they are stored: types and patterns such as `order.created`, `order.*` or `*.draft`, or a function that returns
   * true. The sender gets 200, and the metric and the source's page count them. The function must be quick. If it throws, or returns a
   * promise, the event is stored.
   */
  drop?: readonly string[] | ((event: ArrivedEvent) => boolean)
  /** Takes the event's type from another place, if there is a text. */
  route?: Place
  /** Addresses and CIDR ranges that the sender sends from. They are checked in addition to its signature or credential. */
  addresses?: readonly string[]
  /**
   * Replaces handlers: the address to which each event of the source is posted, with its original body, signed by Standard
   * Webhooks. A 2xx response means that the event is processed.
   */
  forwardTo?: ForwardTo
  /**
   * The most verified events per second from this sender, for all processes of the service together: above 0, at most
   * 1,000,000. As many may arrive at once. Others get 429 with Retry-After. Default: no limit. A request with several events counts once.
   */
  rateLimit?: number
}

export interface SourceOptions extends CommonOptions {
  /**
   * The shared secret. A string may contain several, separated by commas; an array is an alternative. Each of them verifies,
   * so that a secret can be rotated without losing events. The entries of an array may be limited in time.
   */
  secret: Secret
}

/** For senders that sign a time. */
export interface TimedOptions extends SourceOptions {
  /** Seconds by which the signed time may differ from ours, in either direction. Default 300. */
  tolerance?: number
}

/** Verifies and identifies one sender's requests. It is a plain object, so that users can spread and extend it. */
export interface Scheme<Payload = unknown> extends Readonly<Omit<CommonOptions, 'verify'>> {
  /** The preset's name. */
  readonly name: string
  /** Whether there is a secret; a source without one cannot be used. */
  readonly hasSecret: boolean
  /** The weakness of the newest secret, if it has one. */
  readonly weakness?: Weakness
  /** Why requests of this scheme prove less than a signature over the body does, as the rest of a sentence about the source. */
  readonly caution?: string
  readonly verify: Verify
  /** Answers the sender's GET. Without it, GET is not allowed. */
  readonly ask?: (question: Question) => Answered | Rejected
  /** The header of the signature, in lower case, if redaction by name would miss it. */
  readonly signatureHeader?: string
  /** How the sender signs, as the rest of a sentence that begins with "The sender". */
  readonly signs?: string
  /** Where its secret is set, in words. Default: `secret` of the source in the configuration module. */
  readonly secretFrom?: string
  /** The same scheme with other secrets. */
  readonly withSecrets: (secrets: readonly string[]) => Scheme
  /** Accepted media types, without parameters. Default: those of JSON. An empty list accepts all. */
  readonly mediaTypes?: readonly string[]
  /** Types are `kind.action`, and a handler for `kind` gets all of its actions. */
  readonly typesHaveActions?: boolean
  /** The sender also sends events by GET, in the query. */
  readonly sendsGet?: boolean
  /** Its senders ask by an OPTIONS whether they may send, and are allowed to. */
  readonly allowsOrigins?: boolean
  /** A challenge in a POST is returned as JSON. */
  readonly answersPosts?: boolean
  /** For the types only: what its events have as `payload`. */
  readonly '~payload'?: Payload
}

/** The delivery is verified by this secret. */
export interface Shown {
  readonly secret: string
  readonly signedAt?: number
  /** The signed text, if the reader cannot derive it. */
  readonly signed?: string
}

/** Verifies that a delivery comes from the sender. */
export type Check = (delivery: Delivery) => Shown | Rejected | Answered | FetchFirst

export function refuse(detail: string, fault: SignatureFault = 'signature-wrong'): Rejected {
  return { rejected: 'signature', detail, fault }
}

export function malformed(detail: string): Rejected {
  return { rejected: 'malformed', detail }
}

/** The longest challenge that is echoed, in UTF-16 units. */
const longestEcho = 1_024

/**
 * The characters of challenges: printable ASCII without those of HTML. Some challenges are not signed, so anybody could
 * otherwise make this origin return markup.
 */
const plausibleChallenge = /^[\x20-\x7e]+$/

const markup = /[<>"'&`\\]/

/** Answers a challenge with plain text, usually the challenge itself. */
export function answerText(text: string): Answered | Rejected {
  if (text.length > longestEcho) return malformed('The challenge is too long.')
  if (!plausibleChallenge.test(text) || markup.test(text))
    return malformed('The challenge holds characters that no sender uses.')
  return { answer: { status: 200, body: text, contentType: 'text/plain; charset=utf-8' } }
}

export function answerJson(value: object): Answered {
  return { answer: { status: 200, body: JSON.stringify(value), contentType: 'application/json' } }
}

export function answerEmpty(status = 200): Answered {
  return { answer: { status, body: '' } }
}

/** A secret that is valid for a limited time. Times are dates, or ISO 8601 texts. */
interface TimedSecret {
  secret: string
  /** The first moment at which it is valid. */
  from?: Date | string
  /** The first moment at which it is no longer valid. */
  until?: Date | string
}

/** `undefined` is the value of an environment variable that is not set. */
export type Secret = string | readonly (string | TimedSecret)[] | undefined

/** One secret and the time for which it is valid, in milliseconds since 1970. */
export interface ParsedSecret {
  readonly value: string
  readonly from: number
  readonly until: number
}

/**
 * Returns the single secrets: a string is split at commas, entries of an array are not. Empty ones are left out.
 * @throws TypeError if `from` or `until` is not a date.
 */
export function readSecrets(secret: Secret): ParsedSecret[] {
  const given = typeof secret === 'string' ? secret.split(',').map((part) => part.trim()) : (secret ?? [])
  return given
    .map((one) => (typeof one === 'string' ? { secret: one } : one))
    .filter((one) => one.secret !== '')
    .map(({ secret: value, from, until }) => ({
      value,
      from: readMoment(from, -Infinity),
      until: readMoment(until, Infinity),
    }))
}

function readMoment(moment: Date | string | undefined, otherwise: number): number {
  if (moment === undefined) return otherwise
  const read = new Date(moment).getTime()
  if (Number.isNaN(read)) throw new TypeError('from and until of a secret are dates, or texts of ISO 8601')
  return read
}

/** Seconds by which a signed time may differ from ours, in either direction, by default. */
export const defaultTolerance = 300

/** The format of the time: decimal digits since 1970, or ISO 8601 with an offset. */
export type TimeUnit = 'seconds' | 'milliseconds' | 'iso'

const digits = /^\d{1,15}$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Returns a signed time, in milliseconds since 1970, if it is within `tolerance` seconds of `now` (milliseconds). Future times
 * are refused as well, because such a request could be replayed for longer.
 */
export function checkTime(
  timestamp: string,
  now: number,
  tolerance: number,
  unit: TimeUnit = 'seconds',
): { signedAt: number } | Rejected {
  const signedAt = readTime(timestamp, unit)
  if (Number.isNaN(signedAt)) return refuse('the signed time is not a valid time')
  const behind = now - signedAt
  if (Math.abs(behind) <= tolerance * 1000) return { signedAt }
  const seconds = Math.round(Math.abs(behind) / 1000)
  return behind > 0
    ? refuse(`the signed time is ${seconds} s behind this server's clock`, 'timestamp-too-old')
    : refuse(`the signed time is ${seconds} s ahead of this server's clock`, 'timestamp-in-future')
}

/** Returns the verifying secret with its signed time, or the rejection of the time. */
export function shownAt(secret: string, time: { signedAt: number } | Rejected): Shown | Rejected {
  return 'rejected' in time ? time : { secret, signedAt: time.signedAt }
}

/** Returns milliseconds since 1970, or NaN if the text is not such a time. */
function readTime(text: string, unit: TimeUnit): number {
  if (unit === 'iso') return iso.test(text) ? Date.parse(text) : Number.NaN
  return digits.test(text) ? Number(text) * (unit === 'seconds' ? 1000 : 1) : Number.NaN
}
