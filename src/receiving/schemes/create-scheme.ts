import { sharedSecret, weaknessOf } from '../../config/secret-strength.ts'
import { equalBytes } from '../../crypto/secrets.ts'
import { headerOf, readObject } from './body.ts'
import {
  type AddressCheck,
  answerEmpty,
  answerJson,
  answerText,
  malformed,
  type FetchFirst,
  type Answered,
  type Check,
  type Delivery,
  type ParsedSecret,
  type Question,
  readSecrets,
  refuse,
  type Rejected,
  type Scheme,
  type Shown,
  type SourceOptions,
  type VerificationResult,
  type Verify,
} from './scheme.ts'

export interface Definition extends Pick<
  Scheme,
  'name' | 'typesHaveActions' | 'sendsGet' | 'allowsOrigins' | 'signatureHeader' | 'signs'
> {
  options: SourceOptions
  mediaTypes?: readonly string[] | undefined
  /** See Scheme; for these secrets, if it depends on them. */
  caution?: string | ((secrets: readonly string[]) => string | undefined) | undefined
  /** Whether the secrets are public, such as the audience of a token, so that they cannot be weak. */
  isPublic?: boolean
  /** Makes the check for the given secrets, at least one. */
  check: (secrets: readonly string[]) => Check
  /** Reads a verified delivery. */
  read: (delivery: Delivery, shown: Shown) => VerificationResult
  ask?: (question: Question, secrets: readonly string[]) => Answered | Rejected
}

const secretsOf = new WeakMap<Verify, readonly ParsedSecret[]>()

/** Returns the first secret that is valid at a moment, for signing samples; `undefined` if the user replaced `verify`. */
export function secretAt({ verify }: Scheme, now: number): string | undefined {
  return secretsOf.get(verify)?.find(({ from, until }) => from <= now && now < until)?.value
}

/** Times in milliseconds since 1970. */
interface SecretsEnd {
  /** From when on no secret is valid. At most now if none is: then the end of the last one, or -Infinity if none was valid before. */
  last: number
  /** When the next of the secrets ends. */
  next: number
  /** When a secret becomes valid after `last`. */
  again: number
}

/** When a source's secrets end; Infinity for what does not happen, or if the user replaced `verify`. */
export function secretsEnd({ verify }: Scheme, now: number): SecretsEnd {
  const secrets = secretsOf.get(verify) ?? []
  if (secrets.length === 0) return { last: Infinity, next: Infinity, again: Infinity }
  let end = now
  // A secret that begins before the others end continues them.
  for (const { from, until } of secrets.toSorted((one, other) => (one.from < other.from ? -1 : 1)))
    if (from <= end && until > end) end = until
  const ends = secrets.map(({ until }) => until)
  return {
    last: end > now ? end : Math.max(-Infinity, ...ends.filter((one) => one <= now)),
    next: Math.min(Infinity, ...ends.filter((one) => one > now)),
    again: Math.min(Infinity, ...secrets.map(({ from }) => from).filter((from) => from > end)),
  }
}

/** Creates a scheme. Only closures hold its secrets; no property does. */
export function createScheme<Payload = unknown>(definition: Definition): Scheme<Payload> {
  const { name, options, isPublic, check, read } = definition
  const { mediaTypes, typesHaveActions, signatureHeader, signs, sendsGet, allowsOrigins } = definition
  const { forwardTo, rateLimit, signedBody, drop, route, addresses } = options
  const ask = definition.ask ?? declaredAsk(options.verify)
  const withParsed = (secrets: readonly ParsedSecret[]): Scheme<Payload> => {
    const checkAt = atTime(secrets, check)
    const validAt = atTime(secrets, (valid) => valid)
    const caution =
      typeof definition.caution === 'function'
        ? definition.caution(secrets.map(({ value }) => value))
        : definition.caution
    const weakness = !isPublic && secrets[0] && weaknessOf(secrets[0].value, sharedSecret, false)
    const scheme: Scheme<Payload> = {
      name,
      hasSecret: secrets.length > 0,
      ...(weakness && { weakness }),
      ...(caution !== undefined && { caution }),
      verify(delivery) {
        const signed =
          signedBody === 'compressed' && delivery.sent ? { ...delivery, rawBody: delivery.sent } : delivery
        const found = checkAt(delivery.now)?.(signed) ?? withoutSecret
        if (!('secret' in found)) return answerOf(options.verify, delivery, found) ?? found
        const verified = read(delivery, found)
        if (!('id' in verified)) return verified
        const secret = secrets.findIndex(({ value }) => value === found.secret) + 1
        return found.signedAt === undefined
          ? { ...verified, secret }
          : { ...verified, secret, signedAt: found.signedAt }
      },
      ...(ask && {
        ask(question: Question) {
          const valid = validAt(question.now)
          return valid ? ask(question, valid) : withoutSecret
        },
      }),
      withSecrets: (secrets) => withParsed(readSecrets(secrets)),
      ...(options.verify?.challenge && 'body' in options.verify.challenge && { answersPosts: true }),
      ...withValue({ mediaTypes, typesHaveActions, signatureHeader, signs, sendsGet, allowsOrigins }),
      ...withValue({ forwardTo, rateLimit, signedBody, drop, route, addresses }),
    }
    secretsOf.set(scheme.verify, secrets)
    return scheme
  }
  return withParsed(readSecrets(options.secret))
}

/** The properties that have a value. The others are absent, so that spreading a scheme replaces nothing by them. */
function withValue<T extends object>(all: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof withValue<T>
  >
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

const withoutSecret = refuse('the source has no secret that verifies now', 'no-valid-secret')

/** Makes what answers a GET or HEAD that a source declares. */
function declaredAsk(declared: AddressCheck | undefined): Definition['ask'] {
  if (!declared) return undefined
  const { get, head, challenge, token, reply } = declared
  const hasQuestion = challenge !== undefined && !('body' in challenge)
  if (!get && !head && !hasQuestion) return undefined
  return ({ query, headers, method }) => {
    if (token) {
      const sent = Buffer.from(query.get(token.query) ?? '')
      if (!equalBytes(sent, Buffer.from(token.value))) return refuse(`${token.query} does not match`)
    }
    if (method === 'HEAD') return head || get ? answerEmpty() : malformed('The source answers no HEAD.')
    const text = hasQuestion
      ? 'query' in challenge
        ? query.get(challenge.query)
        : headerOf(headers, challenge.header.toLowerCase())
      : undefined
    if (typeof text !== 'string') return get ? answerEmpty() : malformed('There is no challenge.')
    const answered = answerText(text)
    return 'answer' in answered && reply !== undefined ? answerJson({ [reply]: text }) : answered
  }
}

/** Bytes of the largest body that can be a challenge. */
const largestChallenge = 4_096

/** The answer to a POST without a signature that is a declared challenge. */
function answerOf(
  declared: AddressCheck | undefined,
  { rawBody }: Delivery,
  found: Rejected | Answered | FetchFirst,
): Answered | Rejected | undefined {
  const { challenge, reply } = declared ?? {}
  if (!challenge || !('body' in challenge) || rawBody.length > largestChallenge) return undefined
  if (!('fault' in found) || found.fault !== 'signature-missing') return undefined
  const body = readObject(rawBody)
  const text = 'object' in body ? body.object[challenge.body] : undefined
  if (typeof text !== 'string') return undefined
  const answered = answerText(text)
  return 'answer' in answered ? answerJson({ [reply ?? challenge.body]: text }) : answered
}
