import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { headerOf, isObject, type JsonObject, placedReader, type PlacedOptions } from './body.ts'
import { createScheme } from './create-scheme.ts'
import { ed25519, type KeyAlgorithm, p1363, pss, rsaSha256, verifies } from './digest.ts'
import { Fetched } from './fetched.ts'
import {
  type Check,
  type CommonOptions,
  type Delivery,
  refuse,
  type Rejected,
  type Scheme,
  type Secret,
  type FetchFirst,
} from './scheme.ts'

export interface JwtOptions extends CommonOptions, PlacedOptions {
  /** `iss` of the tokens. Its keys are found by OpenID Connect discovery, unless `jwks` names them. */
  issuer: string
  /**
   * `aud` of the tokens, such as the URL of the source. Several as of `secret` of other sources. May be left out only with `{ body: true }`; then
   * the token must not have one.
   */
  audience?: Secret
  /** The address of the issuer's JWK set. */
  jwks?: string
  /** Claims that must have these values: for Google Pub/Sub `{ email: '…', email_verified: true }`. */
  claims?: Readonly<Record<string, string | number | boolean>>
  /** Where the token is: `authorization` (default) or another header with the token alone, or `{ body: true }` if the body is the token. */
  token?: { header: string } | { body: true }
}

/** Google signs tokens of everybody's service accounts for any audience. */
const google = 'https://accounts.google.com'

/**
 * A sender that sends a JWT of an issuer: Google Pub/Sub push, Okta, Kinde. The signature is verified with the issuer's keys, and `iss`,
 * `aud`, `exp`, `nbf` and `claims` are checked. In a header it does not cover the body, so a token that leaks can send any body until it
 * expires. With `{ body: true }` the body is the token, and its claims are the event's payload; then `aud` and `exp` are checked if the
 * token has them, and `aud` must be there if it is declared, and only then. The id and the type are read as by `hmac()`.
 * https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions
 * https://docs.kinde.com/integrate/webhooks/add-manage-webhooks/
 */
export function jwt(options: JwtOptions): Scheme {
  const { issuer, audience, token = { header: 'authorization' }, mediaTypes } = options
  const inBody = 'body' in token
  const read = placedReader(options)
  const header = inBody ? undefined : token.header.toLowerCase()
  return createScheme({
    name: 'jwt',
    options: { ...options, secret: audience ?? (inBody ? [issuer] : undefined) },
    isPublic: true,
    mediaTypes: mediaTypes ?? (inBody ? ['application/jwt', 'text/plain', 'application/json'] : undefined),
    ...(header !== undefined && { signatureHeader: header }),
    signs: `sends a JWT of \`${issuer}\` ${inBody ? 'as the body' : `in the header \`${header}\``}`,
    caution: inBody ? undefined : tokenCaution(options),
    check: jwtCheck(options),
    read(delivery) {
      if (!inBody) return read(delivery)
      const bytes = Buffer.from(delivery.rawBody.toString('latin1').trim().split('.')[1]!, 'base64url')
      const event = read({ ...delivery, rawBody: bytes })
      return 'id' in event ? { ...event, content: { bytes, type: 'application/json' } } : event
    },
  })
}

/** What is weak about tokens in a header, as the caution of a scheme. */
export function tokenCaution({ issuer, claims = {} }: Pick<JwtOptions, 'issuer' | 'claims'>): string {
  return issuer === google && claims['email'] === undefined
    ? 'accepts tokens of every Google service account: set `claims: { email, email_verified: true }`'
    : 'gets a token that does not cover the body: anyone who sees one request can send others until the token expires'
}

/** Makes the check of a token of the issuer; its secrets are the audiences. */
export function jwtCheck(options: JwtOptions): (audiences: readonly string[]) => Check {
  const { token = { header: 'authorization' } } = options
  const isEvent = 'body' in token
  const header = isEvent ? '' : token.header.toLowerCase()
  const verifyToken = tokenVerifier(options)
  return (audiences) => (delivery) => {
    const text = isEvent ? delivery.rawBody.toString('latin1').trim() : bearerOf(delivery, header)
    const sent = readToken(text)
    if (!sent) return refuse('there is no token', 'signature-missing')
    const fault = faultOfClaims(sent.claims, delivery.now, options)
    if (fault) return fault
    const named = new Set([sent.claims['aud'] ?? []].flat())
    // Without a declared audience, the only secret is the issuer.
    const isUndeclared = isEvent && options.audience === undefined
    const secret = audiences.find((one) => (isUndeclared ? named.size === 0 : named.has(one)))
    if (secret === undefined) return refuse('aud does not match')
    const verified = verifyToken(sent, delivery.now)
    return verified === true ? { secret } : verified
  }
}

/** A token as it was sent, not verified. */
interface Token {
  readonly header: JsonObject
  readonly claims: JsonObject
  readonly signed: Buffer
  readonly signature: Buffer
}

const form = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Reads a token in compact form; undefined for anything else. */
export function readToken(text: string | undefined): Token | undefined {
  if (text === undefined || !form.test(text)) return undefined
  const [header = '', claims = '', signature = ''] = text.split('.')
  try {
    const read = [header, claims].map(
      (part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown,
    )
    if (!isObject(read[0]) || !isObject(read[1])) return undefined
    return {
      header: read[0],
      claims: read[1],
      signed: Buffer.from(`${header}.${claims}`),
      signature: Buffer.from(signature, 'base64url'),
    }
  } catch {
    return undefined
  }
}

function bearerOf({ headers }: Delivery, header: string): string | undefined {
  const text = headerOf(headers, header)
  return /^bearer +(\S+)$/i.exec(text ?? '')?.[1] ?? (header === 'authorization' ? undefined : text)
}

/** Seconds by which the clocks of the issuer and of this server may differ. */
const skew = 60

function faultOfClaims(
  sent: JsonObject,
  now: number,
  { issuer, claims = {}, token }: JwtOptions,
): Rejected | undefined {
  const isEvent = token !== undefined && 'body' in token
  const seconds = now / 1000
  const { iss, exp, nbf, iat } = sent
  if (!(isEvent && iss === undefined) && iss !== issuer) return refuse('iss does not match')
  if (!(isEvent && exp === undefined) && !(typeof exp === 'number' && exp + skew > seconds))
    return refuse('the token has expired', 'timestamp-too-old')
  for (const from of [nbf, iat])
    if (typeof from === 'number' && from - skew > seconds)
      return refuse('the token is not valid yet', 'timestamp-in-future')
  for (const [name, value] of Object.entries(claims))
    if (sent[name] !== value) return refuse(`the claim ${name} does not match`)
  return undefined
}

interface VerifyingKey {
  readonly kid: string | undefined
  readonly algorithm: string | undefined
  readonly key: KeyObject
}

/** Verifies with the keys of an issuer, which the host of its discovery document or of `jwks` publishes. */
function tokenVerifier({
  issuer,
  jwks,
}: JwtOptions): (token: Token, now: number) => true | Rejected | FetchFirst {
  const discovered = new Fetched({
    request: (one) => ({ url: `${one.replace(/\/$/, '')}/.well-known/openid-configuration` }),
    parse(text) {
      const { issuer: named, jwks_uri: uri } = JSON.parse(text) as { issuer?: unknown; jwks_uri?: unknown }
      if (named !== issuer || typeof uri !== 'string')
        throw new Error('the document is that of another issuer')
      return uri
    },
  })
  const sets = new Fetched({ parse: readJwks })
  return (token, now) => {
    const found = jwks === undefined ? discovered.at(issuer, now) : { value: jwks }
    if (!('value' in found)) return found
    const set = sets.at(found.value, now)
    if (!('value' in set)) return set
    if (isSignedBy(token, set.value)) return true
    const isKnown = set.value.some(({ kid }) => kid === token.header['kid'])
    const again = isKnown ? undefined : sets.again(found.value, now)
    return again ?? refuse('the signature of the token does not match')
  }
}

/** Reads a JWK set. Leaves out keys that cannot verify. @throws Error if the text is not a JWK set */
export function readJwks(text: string): VerifyingKey[] {
  const { keys } = JSON.parse(text) as {
    keys: (webcrypto.JsonWebKey & { kid?: string; alg?: string; use?: string })[]
  }
  return keys.flatMap((jwk) => {
    if (jwk.use !== undefined && jwk.use !== 'sig') return []
    try {
      return [{ kid: jwk.kid, algorithm: jwk.alg, key: createPublicKey({ key: jwk, format: 'jwk' }) }]
    } catch {
      return []
    }
  })
}

/** Algorithms of RFC 7518 and 8037 with a public key. None takes a shared secret or no key. */
const algorithms: Readonly<Record<string, KeyAlgorithm>> = {
  RS256: rsaSha256,
  RS384: { hash: 'sha384', type: 'rsa' },
  RS512: { hash: 'sha512', type: 'rsa' },
  PS256: { ...rsaSha256, more: pss },
  ES256: { hash: 'sha256', type: 'ec', curve: 'prime256v1', more: p1363 },
  ES384: { hash: 'sha384', type: 'ec', curve: 'secp384r1', more: p1363 },
  EdDSA: ed25519,
}

/** Whether one of the keys, the one that the token names if they have names, made its signature. */
export function isSignedBy(token: Token, keys: readonly VerifyingKey[]): boolean {
  const { alg, kid } = token.header
  const algorithm = typeof alg === 'string' && Object.hasOwn(algorithms, alg) ? algorithms[alg] : undefined
  // RFC 7515, section 4.1.11: extensions that are critical must be understood, and none is.
  if (!algorithm || 'crit' in token.header) return false
  return keys.some(({ kid: named, algorithm: only, key }) => {
    if (kid !== undefined && named !== undefined && kid !== named) return false
    if (only !== undefined && only !== alg) return false
    return verifies(algorithm, key, token.signed, token.signature)
  })
}
