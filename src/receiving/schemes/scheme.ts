import type { IncomingHttpHeaders } from 'node:http'
import { sharedSecret, weaknessOf, type Weakness } from '../../config/secret-strength.ts'
import type { ForwardTo } from '../forward-target.ts'
import { readSecrets, type KeptSecret, type Secret } from './secrets.ts'

/** One request as it came. `now` is milliseconds since 1970. */
export interface Delivery {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  readonly now: number
  /** The public address that was called, with its query: some senders sign it. */
  readonly url?: string
}

/** What the sender is answered instead of `{"received":true}`. */
export interface Reply {
  readonly status: number
  readonly body: string
  /** Left out where there is no body. */
  readonly contentType?: string
}

/** The sender's own id of the event, stable over its retries, and the type that handlers are chosen by. */
export interface Accepted {
  readonly id: string
  readonly type: string
  /** For senders that read the answer. */
  readonly reply?: Reply
  /** The place among the source's secrets of the one that verified, from 1. */
  readonly secret?: number
  /** The time that the sender signed, in milliseconds since 1970. */
  readonly signedAt?: number
}

/** Why a signature does not prove that the sender sent the delivery now. */
export type SignatureFault =
  | 'signature-missing'
  | 'signature-wrong'
  | 'no-valid-secret'
  | 'timestamp-too-old'
  | 'timestamp-in-future'

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
}

export type VerificationResult = Accepted | Rejected | Answered

export type Verify = (delivery: Delivery) => VerificationResult

/** A GET or HEAD by which a sender makes sure of an address before it sends to it. */
export interface Question {
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly now: number
}

/** What every preset takes. */
export interface SourceOptions {
  /**
   * The shared secret. A string may hold several, separated by commas, and so may an array: each of them verifies, so
   * that a secret can be rotated without losing an event. An array's entries may have a beginning and an end.
   */
  secret: Secret
  /**
   * Instead of handlers: the address that every event of the source is posted to, with the body's bytes as they came,
   * signed by Standard Webhooks. The event counts as processed when a 2xx comes back.
   */
  forwardTo?: ForwardTo
  /**
   * Events a second that are taken from this sender, by all processes of the service together, above 0 and at most 1,000,000;
   * as many may come at once. What is more is answered with 429 and Retry-After. Counted are events whose signature is right. Default: any number.
   */
  rateLimit?: number
}

/** For senders that sign a time. */
export interface TimedOptions extends SourceOptions {
  /** Seconds that the signed time may differ from ours, in either direction. Default 300. */
  tolerance?: number
}

/** How one sender's requests are verified and identified. A plain object, so that it can be spread and extended. */
export interface Scheme<Payload = unknown> {
  /** The preset's name. */
  readonly name: string
  /** Whether there is a secret to verify by; without one the source cannot be used. */
  readonly hasSecret: boolean
  /** What is weak about the newest secret, if anything is. */
  readonly weakness?: Weakness
  readonly verify: Verify
  /** Answers the sender's GET. Without it GET is not allowed. */
  readonly ask?: (question: Question) => Answered | Rejected
  /** The header that holds the signature, in lower case, where its name does not tell. */
  readonly signatureHeader?: string
  /** The same scheme with other secrets. */
  readonly withSecrets: (secrets: readonly string[]) => Scheme
  /** Media types that are taken, without parameters; without it, all of JSON's. An empty list takes everything. */
  readonly mediaTypes?: readonly string[]
  /** Types are `kind.action`, and a handler for `kind` alone is meant for all of its actions. */
  readonly typesHaveActions?: boolean
  readonly forwardTo?: ForwardTo
  readonly rateLimit?: number
  /** For the types only: what its events have as `payload`. */
  readonly '~payload'?: Payload
}

/** The delivery comes from the sender, by this secret. */
export interface Shown {
  readonly secret: string
  readonly signedAt?: number
  /** What the signature covers, where the reader cannot tell it by itself. */
  readonly signed?: string
}

/** Whether a delivery comes from the sender. */
export type Check = (delivery: Delivery) => Shown | Rejected | Answered

interface Definition {
  name: string
  options: SourceOptions
  mediaTypes?: readonly string[] | undefined
  typesHaveActions?: boolean
  signatureHeader?: string
  /** Makes the check for the given secrets; there is at least one. */
  check: (secrets: readonly string[]) => Check
  /** Reads a delivery whose origin is shown. */
  read: (delivery: Delivery, shown: Shown) => VerificationResult
  ask?: (secrets: readonly string[]) => (question: Question) => Answered | Rejected
}

const secretsOf = new WeakMap<Verify, readonly KeptSecret[]>()

/** The newest secret that verifies at a moment, by which commands sign samples. `undefined` for a scheme with a `verify` of its own. */
export function secretAt({ verify }: Scheme, now: number): string | undefined {
  return secretsOf.get(verify)?.find(({ from, until }) => from <= now && now < until)?.value
}

/** Builds a scheme: its secrets are held by the check's closure and appear on no property. */
export function createScheme<Payload = unknown>(definition: Definition): Scheme<Payload> {
  const { name, options, mediaTypes, typesHaveActions, signatureHeader, check, read, ask } = definition
  const withKept = (kept: readonly KeptSecret[]): Scheme<Payload> => {
    const checkAt = atTime(kept, check)
    const askAt = ask && atTime(kept, ask)
    const weakness = kept[0] && weaknessOf(kept[0].value, sharedSecret, false)
    const scheme: Scheme<Payload> = {
      name,
      hasSecret: kept.length > 0,
      ...(weakness && { weakness }),
      verify(delivery) {
        const found = checkAt(delivery.now)?.(delivery) ?? withoutSecret
        if (!('secret' in found)) return found
        const verified = read(delivery, found)
        if (!('id' in verified)) return verified
        const secret = kept.findIndex(({ value }) => value === found.secret) + 1
        return found.signedAt === undefined
          ? { ...verified, secret }
          : { ...verified, secret, signedAt: found.signedAt }
      },
      ...(askAt && { ask: (question: Question) => askAt(question.now)?.(question) ?? withoutSecret }),
      withSecrets: (secrets) => withKept(readSecrets(secrets)),
      ...(mediaTypes && { mediaTypes }),
      ...(typesHaveActions && { typesHaveActions }),
      ...(signatureHeader && { signatureHeader }),
      ...(options.forwardTo !== undefined && { forwardTo: options.forwardTo }),
      ...(options.rateLimit !== undefined && { rateLimit: options.rateLimit }),
    }
    secretsOf.set(scheme.verify, kept)
    return scheme
  }
  return withKept(readSecrets(options.secret))
}

/** What `make` makes of the secrets that verify at a moment; made anew only when others do. */
function atTime<T>(
  kept: readonly KeptSecret[],
  make: (secrets: readonly string[]) => T,
): (now: number) => T | undefined {
  // A secret that cannot be used is to be told of at the start, and not when its time comes.
  const whole = kept.length > 0 ? make(kept.map(({ value }) => value)) : undefined
  if (kept.every(({ from, until }) => from === -Infinity && until === Infinity)) return () => whole
  let made: { secrets: readonly string[]; of: T } | undefined
  return (now) => {
    const secrets = kept.filter(({ from, until }) => from <= now && now < until).map(({ value }) => value)
    if (secrets.length === 0) return undefined
    const same =
      made?.secrets.length === secrets.length && made.secrets.every((one, at) => one === secrets[at])
    if (!same) made = { secrets, of: make(secrets) }
    return made?.of
  }
}

export function refuse(detail: string, fault: SignatureFault = 'signature-wrong'): Rejected {
  return { rejected: 'signature', detail, fault }
}

export function malformed(detail: string): Rejected {
  return { rejected: 'malformed', detail }
}

/** The longest text of a question that is repeated in an answer, in UTF-16 units. */
const longestEcho = 1_024

/**
 * What the challenges of senders are made of: printable ASCII without what HTML is made of. Some are not signed, so that
 * anybody can have a text repeated under our name.
 */
const plausibleChallenge = /^[\x20-\x7e]+$/
const markup = /[<>"'&`\\]/

/** Answers a question with plain text, usually the sender's own. */
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

const withoutSecret = refuse('the source has no secret that verifies now', 'no-valid-secret')
