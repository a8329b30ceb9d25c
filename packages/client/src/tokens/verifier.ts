import { errorOf, errorOfResponse, type PosternError } from '../errors.ts'
import { addressOf, readObject, send, type Fetch } from '../http.ts'
import type { AccessTokenClaims } from './claims.ts'
import { bytesOfBase64url, bytesOfText, objectOfPart } from './encoding.ts'
import { KeySet } from './key-set.ts'
import { scopesOf } from './scopes.ts'
import { VerifiedTokens } from './verified-tokens.ts'

export interface VerifierOptions {
  /** The address of the service, exactly as it is in `iss`. */
  issuer: string
  /** The name of this API, which the token must have in `aud`. */
  audience: string
  /** Default `<issuer>/.well-known/jwks.json`. */
  jwksUri?: string | undefined
  fetch?: Fetch | undefined
  /** Milliseconds for an answer of the service. Default 5,000. */
  timeout?: number | undefined
  /** Seconds that clocks may differ. Default 5. */
  clockTolerance?: number | undefined
  /** Seconds that keys are used at most. Default 300; Cache-Control may shorten it. */
  maxAge?: number | undefined
  /** Seconds between two fetches for unknown key ids. Default 10. */
  cooldown?: number | undefined
  /** Verified tokens that are remembered. Default 1,000; 0 verifies every signature anew. */
  cacheSize?: number | undefined
  /**
   * Ask the service about every token, so that a token of an ended session is refused at once: `true` asks GET /auth/session, which
   * takes tokens of its own audience; the credentials of a confidential client ask POST /oauth2/introspect.
   */
  checkRevoked?: boolean | { clientId: string; clientSecret: string } | undefined
  /** Milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined
}

export interface TokenDemands {
  /** Scopes that the token must have, all of them. */
  scope?: string | readonly string[] | undefined
}

export interface Verifier {
  /**
   * The claims of a valid access token of the service for this API.
   * @throws NotSignedInError `invalid-token`, ForbiddenError `insufficient-scope`, UnavailableError `keys-unavailable`
   */
  verify: (token: string, demands?: TokenDemands) => Promise<AccessTokenClaims>
  /** `WWW-Authenticate` for error responses, if the API has its own metadata; see createProtectedResource. */
  challenge?: (code: string, demands?: TokenDemands) => string
}

const maxLength = 16_384
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Verifies access tokens: JWTs of RFC 9068, signed with ES256, RS256 or EdDSA by a key that the service publishes now. */
export function createVerifier(options: VerifierOptions): Verifier {
  const {
    issuer,
    fetch,
    timeout = 5_000,
    maxAge = 300,
    cooldown = 10,
    cacheSize = 1_000,
    now = Date.now,
  } = options
  const jwksUri = options.jwksUri ?? addressOf(issuer, '/.well-known/jwks.json')
  const keys = new KeySet({ jwksUri, fetch, timeout, maxAge, cooldown, now })
  const verified = new VerifiedTokens(cacheSize)
  return {
    async verify(token, { scope } = {}) {
      const generation = keys.fresh()
      let claims = generation === undefined ? undefined : verified.get(token, generation)
      if (!claims) {
        const signed = await verifySignature(token, keys)
        claims = signed.claims
        assertClaims(claims, options, now())
        verified.set(token, claims, signed.generation)
      } else if (claims.exp + (options.clockTolerance ?? defaultTolerance) <= now() / 1000) {
        verified.delete(token)
        throw invalid('It has expired.')
      }
      if (options.checkRevoked) await assertLive(token, options, timeout)
      assertScope(claims, scope)
      return claims
    },
  }
}

const defaultTolerance = 5

interface SignedClaims {
  claims: AccessTokenClaims
  /** Of the keys with which the signature was verified. */
  generation: number
}

async function verifySignature(token: string, keys: KeySet): Promise<SignedClaims> {
  if (typeof token !== 'string' || token.length > maxLength || !form.test(token))
    throw invalid('It is no signed JWT.')
  const [head = '', body = '', tail = ''] = token.split('.')
  const { header, payload, signature } = decode(head, body, tail)
  const { alg, typ, kid, crit } = header
  // RFC 9068, section 4: an id_token, or another JWT of the service, is no access token.
  if (typeof typ !== 'string' || !/^(?:application\/)?at\+jwt$/i.test(typ))
    throw invalid('Its typ is not at+jwt.')
  if (crit !== undefined) throw invalid('It has critical headers.')
  if (typeof kid !== 'string') throw invalid('It names no key.')
  const { key, generation } = await keys.find(kid)
  if (!key) throw invalid('The service does not publish its key.')
  if (alg !== key.algorithm && !(alg === 'Ed25519' && key.algorithm === 'EdDSA'))
    throw invalid('Its algorithm is not that of its key.')
  const valid = await key.verify(bytesOfText(`${head}.${body}`), signature)
  if (!valid) throw invalid('Its signature is wrong.')
  return { claims: payload as AccessTokenClaims, generation }
}

function decode(head: string, body: string, tail: string) {
  try {
    return { header: objectOfPart(head), payload: objectOfPart(body), signature: bytesOfBase64url(tail) }
  } catch (cause) {
    throw invalid('It is no signed JWT.', cause)
  }
}

function assertClaims(claims: AccessTokenClaims, options: VerifierOptions, milliseconds: number): void {
  const { issuer, audience, clockTolerance = defaultTolerance } = options
  const { iss, aud, exp, iat, nbf } = claims
  const now = milliseconds / 1000
  for (const name of ['sub', 'client_id', 'jti'] as const)
    if (typeof claims[name] !== 'string') throw invalid(`It has no ${name}.`)
  for (const time of [exp, iat, nbf ?? iat])
    if (typeof time !== 'number' || !Number.isFinite(time)) throw invalid('It lacks its times.')
  if (iss !== issuer) throw invalid('Another issuer issued it.')
  if (typeof audience !== 'string' || ![aud].flat().includes(audience))
    throw invalid('It is for another audience.')
  if (exp + clockTolerance <= now) throw invalid('It has expired.')
  if (Math.max(iat, Number(nbf ?? iat)) - clockTolerance > now) throw invalid('It is not valid yet.')
  if (Array.isArray(aud)) Object.freeze(aud)
  Object.freeze(claims)
}

function assertScope(claims: AccessTokenClaims, scope: TokenDemands['scope']): void {
  if (scope === undefined) return
  const held = scopesOf(claims)
  const missing = [scope].flat().filter((one) => !held.includes(one))
  if (missing.length > 0)
    throw errorOf('insufficient-scope', 403, { detail: `The token lacks the scope ${missing.join(' ')}.` })
}

async function assertLive(token: string, options: VerifierOptions, timeout: number): Promise<void> {
  const { issuer, fetch, checkRevoked } = options
  const client = typeof checkRevoked === 'object' ? checkRevoked : undefined
  const live = client
    ? await send(
        addressOf(issuer, '/oauth2/introspect'),
        {
          method: 'POST',
          headers: { authorization: basic(client.clientId, client.clientSecret) },
          body: new URLSearchParams({ token }),
        },
        { fetch, timeout },
        isActive,
      )
    : await send(
        addressOf(issuer, '/auth/session'),
        { headers: { authorization: `Bearer ${token}` } },
        { fetch, timeout },
        isAccepted,
      )
  if (!live) throw invalid('Its session has ended.')
}

async function isActive(response: Response): Promise<boolean> {
  if (response.status !== 200) {
    // Refused credentials are a fault of this API, and not of its caller.
    const cause = await errorOfResponse(response)
    throw errorOf(cause.code, 503, { detail: `The token cannot be checked: ${cause.message}`, cause })
  }
  return (await readObject<{ active?: unknown }>(response)).active === true
}

async function isAccepted(response: Response): Promise<boolean> {
  if (response.status !== 200 && response.status !== 401) throw await errorOfResponse(response)
  await response.body?.cancel()
  return response.status === 200
}

/** RFC 6749, section 2.3.1. */
function basic(id: string, secret: string): string {
  const encode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
  return `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`
}

function invalid(detail: string, cause?: unknown): PosternError {
  return errorOf('invalid-token', 401, {
    detail: `The access token is not accepted: ${lower(detail)}`,
    cause,
  })
}

const lower = (text: string): string => text[0]!.toLowerCase() + text.slice(1)
