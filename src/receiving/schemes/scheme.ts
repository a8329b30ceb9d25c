import type { IncomingHttpHeaders } from 'node:http'
import { sharedSecret, weaknessOf, type Weakness } from '../../config/secret-strength.ts'
import type { ForwardTo } from '../forward-target.ts'
import { readSecrets, type ParsedSecret, type Secret } from './secrets.ts'

/** A request. `now` is milliseconds since 1970. */
export interface Delivery {
  readonly rawBody: Buffer
  readonly headers: IncomingHttpHeaders
  readonly now: number
  /** The public address of the request, with its query: some senders sign it. */
  readonly url?: string
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

/** A GET or HEAD by which a sender verifies the address. */
export interface Question {
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly now: number
}

/** The options of all presets. */
export interface SourceOptions {
  /**
   * The shared secret. A string may contain several, separated by commas; an array is an alternative. Each of them verifies,
   * so that a secret can be rotated without losing events. The entries of an array may be limited in time.
   */
  secret: Secret
  /**
   * Replaces handlers: the address to which each event of the source is posted, with its original body, signed by Standard
   * Webhooks. A 2xx response means that the event is processed.
   */
  forwardTo?: ForwardTo
  /**
   * The most verified events per second from this sender, for all processes of the service together: above 0, at most
   * 1,000,000. As many may arrive at once. Others get 429 with Retry-After. Default: no limit.
   */
  rateLimit?: number
}

/** For senders that sign a time. */
export interface TimedOptions extends SourceOptions {
  /** Seconds by which the signed time may differ from ours, in either direction. Default 300. */
  tolerance?: number
}

/** Verifies and identifies one sender's requests. It is a plain object, so that users can spread and extend it. */
export interface Scheme<Payload = unknown> {
  /** The preset's name. */
  readonly name: string
  /** Whether there is a secret; a source without one cannot be used. */
  readonly hasSecret: boolean
  /** The weakness of the newest secret, if it has one. */
  readonly weakness?: Weakness
  readonly verify: Verify
  /** Answers the sender's GET. Without it, GET is not allowed. */
  readonly ask?: (question: Question) => Answered | Rejected
  /** The header of the signature, in lower case, if redaction by name would miss it. */
  readonly signatureHeader?: string
  /** The same scheme with other secrets. */
  readonly withSecrets: (secrets: readonly string[]) => Scheme
  /** Accepted media types, without parameters. Default: those of JSON. An empty list accepts all. */
  readonly mediaTypes?: readonly string[]
  /** Types are `kind.action`, and a handler for `kind` gets all of its actions. */
  readonly typesHaveActions?: boolean
  readonly forwardTo?: ForwardTo
  readonly rateLimit?: number
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
export type Check = (delivery: Delivery) => Shown | Rejected | Answered

interface Definition {
  name: string
  options: SourceOptions
  mediaTypes?: readonly string[] | undefined
  typesHaveActions?: boolean
  signatureHeader?: string
  /** Makes the check for the given secrets, at least one. */
  check: (secrets: readonly string[]) => Check
  /** Reads a verified delivery. */
  read: (delivery: Delivery, shown: Shown) => VerificationResult
  ask?: (secrets: readonly string[]) => (question: Question) => Answered | Rejected
}

const secretsOf = new WeakMap<Verify, readonly ParsedSecret[]>()

/** Returns the first secret that is valid at a moment, for signing samples; `undefined` if the user replaced `verify`. */
export function secretAt({ verify }: Scheme, now: number): string | undefined {
  return secretsOf.get(verify)?.find(({ from, until }) => from <= now && now < until)?.value
}

/**
 * When the last of a source's secrets ends, and when the next one does, in milliseconds since 1970; Infinity for one without an
 * end, or if the user replaced `verify`.
 */
export function secretsEnd({ verify }: Scheme, now: number): { last: number; next: number } {
  const secrets = secretsOf.get(verify) ?? []
  if (secrets.length === 0) return { last: Infinity, next: Infinity }
  const ends = secrets.map(({ until }) => until)
  return { last: Math.max(...ends), next: Math.min(Infinity, ...ends.filter((end) => end > now)) }
}

/** Creates a scheme. Only closures hold its secrets; no property does. */
export function createScheme<Payload = unknown>(definition: Definition): Scheme<Payload> {
  const { name, options, mediaTypes, typesHaveActions, signatureHeader, check, read, ask } = definition
  const withParsed = (secrets: readonly ParsedSecret[]): Scheme<Payload> => {
    const checkAt = atTime(secrets, check)
    const askAt = ask && atTime(secrets, ask)
    const weakness = secrets[0] && weaknessOf(secrets[0].value, sharedSecret, false)
    const scheme: Scheme<Payload> = {
      name,
      hasSecret: secrets.length > 0,
      ...(weakness && { weakness }),
      verify(delivery) {
        const found = checkAt(delivery.now)?.(delivery) ?? withoutSecret
        if (!('secret' in found)) return found
        const verified = read(delivery, found)
        if (!('id' in verified)) return verified
        const secret = secrets.findIndex(({ value }) => value === found.secret) + 1
        return found.signedAt === undefined
          ? { ...verified, secret }
          : { ...verified, secret, signedAt: found.signedAt }
      },
      ...(askAt && { ask: (question: Question) => askAt(question.now)?.(question) ?? withoutSecret }),
      withSecrets: (secrets) => withParsed(readSecrets(secrets)),
      ...(mediaTypes && { mediaTypes }),
      ...(typesHaveActions && { typesHaveActions }),
      ...(signatureHeader && { signatureHeader }),
      ...(options.forwardTo !== undefined && { forwardTo: options.forwardTo }),
      ...(options.rateLimit !== undefined && { rateLimit: options.rateLimit }),
    }
    secretsOf.set(scheme.verify, secrets)
    return scheme
  }
  return withParsed(readSecrets(options.secret))
}

/** Caches the result of `make` for the secrets that are valid at a moment, until others are. */
function atTime<T>(
  secrets: readonly ParsedSecret[],
  make: (secrets: readonly string[]) => T,
): (now: number) => T | undefined {
  // Calls `make` for all secrets, so that an invalid one fails at the start and not when it becomes valid.
  const whole = secrets.length > 0 ? make(secrets.map(({ value }) => value)) : undefined
  if (secrets.every(({ from, until }) => from === -Infinity && until === Infinity)) return () => whole
  let made: { secrets: readonly string[]; of: T } | undefined
  return (now) => {
    const valid = secrets.filter(({ from, until }) => from <= now && now < until).map(({ value }) => value)
    if (valid.length === 0) return undefined
    const same = made?.secrets.length === valid.length && made.secrets.every((one, at) => one === valid[at])
    if (!same) made = { secrets: valid, of: make(valid) }
    return made?.of
  }
}

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

const withoutSecret = refuse('the source has no secret that verifies now', 'no-valid-secret')
