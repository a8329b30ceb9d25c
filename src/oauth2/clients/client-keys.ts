import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'

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
  if (['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].some((member) => Object.hasOwn(jwk, member)))
    return 'has private members: register the public half only'
  if (jwk.alg !== undefined && !(assertionAlgorithms as readonly string[]).includes(jwk.alg))
    return `has an algorithm other than ${assertionAlgorithms.join(', ')}`
  if (jwk.kid !== undefined && typeof jwk.kid !== 'string') return 'has a kid that is not a text'
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
