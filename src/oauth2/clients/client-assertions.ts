import type { ModuleParts } from '../../http/service-module.ts'
import type { JWK, JWTPayload } from 'jose'
import { hashToken } from '../../crypto/secrets.ts'
import type { Client } from './client.ts'
import { deleteExpired, useAssertion } from '../../storage/sql-text.ts'
import { createPublicKey, type KeyObject } from 'node:crypto'

/** The value of `client_assertion_type` (RFC 7523, section 2.2). */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Seconds from now to the expiry of an assertion at most: for so long its `jti` is stored. */
const longestLifetime = 600
/** Seconds by which the clocks of a client and this service may differ. */
const tolerance = 30

/** The endpoints, besides the issuer, that an assertion may name as its audience (RFC 9126, section 2). */
const audiences = ['', '/oauth2/token', '/oauth2/par'] as const

interface AssertionFault {
  /** For the audit log. */
  code: 'no-keys' | 'wrong-assertion' | 'replayed-assertion'
  why: string
}

/** The signed assertions with which clients authenticate (`private_key_jwt`, RFC 7523). */
export class ClientAssertions {
  readonly #parts: Pick<ModuleParts, 'database' | 'clock' | 'baseUrl'>

  constructor(parts: Pick<ModuleParts, 'database' | 'clock' | 'baseUrl'>) {
    this.#parts = parts
  }

  /** The client that an assertion names, before its signature is checked; `undefined` when it is malformed. */
  async signerOf(assertion: string): Promise<string | undefined> {
    const { decodeJwt, errors } = await import('jose')
    try {
      const { sub }: { sub?: unknown } = decodeJwt(assertion)
      return typeof sub === 'string' ? sub : undefined
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined
      throw error
    }
  }

  /**
   * Why an assertion does not authenticate the client; `undefined` if it does, which then uses it up. Only the registered keys
   * of the client count: keys and addresses of keys in the header of the assertion are ignored.
   */
  async faultOf(assertion: string, client: Client): Promise<AssertionFault | undefined> {
    if (client.jwks === undefined) return { code: 'no-keys', why: 'this app has no registered keys' }
    const claims = await this.#verified(assertion, client, client.jwks)
    if (typeof claims === 'string') return { code: 'wrong-assertion', why: claims }
    const { jti, exp, aud } = claims
    const now = this.#parts.clock.now()
    const wrong = (why: string): AssertionFault => ({ code: 'wrong-assertion', why })
    // Each audience is this service: otherwise another receiver could pass the assertion on to here.
    const accepted = new Set(audiences.map((path) => this.#parts.baseUrl() + path))
    const named = [aud ?? []].flat()
    if (named.length === 0 || !named.every((one) => accepted.has(one)))
      return wrong('aud of the assertion must be the issuer or the token endpoint')
    if (exp! > now / 1000 + longestLifetime + tolerance)
      return wrong(`the assertion must expire within ${longestLifetime} seconds`)
    if (typeof jti !== 'string' || jti === '') return wrong('jti of the assertion must be a text')
    const used = { issuer: client.id, hash: hashToken(jti), expires_at: Math.ceil((exp! + tolerance) * 1000) }
    const isNew = await this.#parts.database.transaction((tx) => useAssertion(tx, used))
    return isNew ? undefined : { code: 'replayed-assertion', why: 'the assertion was used before' }
  }

  /** The claims, or why they do not count. */
  async #verified(
    assertion: string,
    { id }: Client,
    { keys }: NonNullable<Client['jwks']>,
  ): Promise<JWTPayload | string> {
    const { createLocalJWKSet, errors, jwtVerify } = await import('jose')
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet({ keys: [...keys] }), {
        algorithms: [...assertionAlgorithms],
        issuer: id,
        subject: id,
        requiredClaims: ['exp', 'jti', 'aud'],
        clockTolerance: tolerance,
        currentDate: new Date(this.#parts.clock.now()),
      })
      return payload
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys)
        return 'several registered keys match: name one with kid'
      if (error instanceof errors.JWTExpired) return 'the assertion has expired'
      if (error instanceof errors.JWTClaimValidationFailed) return `the assertion: ${error.message}`
      if (error instanceof errors.JOSEError) return 'the assertion is not signed with a registered key'
      throw error
    }
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'used_assertions', now)
  }
}

/** The algorithms of client assertions (RFC 7523). No symmetric one: the keys are public. */
export const assertionAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA'] as const

const mostKeys = 10
/** Bits of an RSA key. The time of a verification grows with the square of the length. */
const [shortestModulus, longestModulus] = [2048, 8192]

/**
 * The errors in the registered public keys of a client.
 * @param named the key set in the messages
 */
export function keyFaults(jwks: { readonly keys: readonly JWK[] }, named: string): string[] {
  const keys: unknown = (jwks as { keys?: unknown } | null)?.keys
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > mostKeys)
    return [`${named} must be a JWK Set with 1 to ${mostKeys} keys`]
  return keys.flatMap((key: JWK, index) => {
    const fault = keyFault(key)
    return fault === undefined ? [] : [`${named}: key ${index + 1} ${fault}`]
  })
}

function keyFault(jwk: JWK): string | undefined {
  if (typeof jwk !== 'object' || jwk === null) return 'is not a JWK'
  if (['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].some((member) => Object.hasOwn(jwk, member)))
    return 'has private members: register the public half only'
  if (jwk.alg !== undefined && !(assertionAlgorithms as readonly string[]).includes(jwk.alg))
    return `has an algorithm other than ${assertionAlgorithms.join(', ')}`
  if (jwk.kid !== undefined && typeof jwk.kid !== 'string') return 'has a kid that is not a text'
  // WebCrypto rejects a public key for anything else.
  if (jwk.key_ops !== undefined && JSON.stringify(jwk.key_ops) !== '["verify"]')
    return 'has key_ops other than verify'
  try {
    return kindFault(createPublicKey({ key: jwk, format: 'jwk' }))
  } catch {
    return 'is not a public key in the form of RFC 7517'
  }
}

function kindFault({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): string | undefined {
  if (type === 'ed25519') return undefined
  const { namedCurve, modulusLength = 0 } = details ?? {}
  if (type === 'ec' && namedCurve === 'prime256v1') return undefined
  if (type === 'rsa' && modulusLength >= shortestModulus && modulusLength <= longestModulus) return undefined
  return `must be of P-256, Ed25519, or RSA with ${shortestModulus} to ${longestModulus} bits`
}
