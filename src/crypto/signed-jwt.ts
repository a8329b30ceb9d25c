import { sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { isObject } from '../json/exact.ts'

const signAside = promisify(sign) as (
  algorithm: string | null,
  data: Buffer,
  key: KeyObject,
) => Promise<Buffer>

/** The algorithms of JSON Web Algorithms (RFC 7518, section 3; RFC 8037, section 3.1) that this service signs with. */
export type SigningAlgorithm = 'ES256' | 'RS256' | 'EdDSA'

/**
 * Signs claims as a JWT in compact form (RFC 7515, section 7.1). Web Crypto passes each signature to another thread, which takes
 * longer than the signature itself, except with RSA: only that is worth another thread.
 */
export async function signJwt(
  header: { alg: SigningAlgorithm; typ: string; kid: string },
  claims: object,
  key: KeyObject,
): Promise<string> {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${(await signature(header.alg, Buffer.from(signed), key)).toString('base64url')}`
}

function signature(algorithm: SigningAlgorithm, data: Buffer, key: KeyObject): Buffer | Promise<Buffer> {
  if (algorithm === 'RS256') return signAside('sha256', data, key)
  if (algorithm === 'EdDSA') return sign(null, data, key)
  // Both numbers in 32 bytes each (RFC 7518, section 3.4), instead of in ASN.1.
  return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
}

/** The claims of a JWT, not verified; `undefined` when it is not readable. */
export function unverifiedClaims(jwt: string): Record<string, unknown> | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(jwt.split('.', 2)[1] ?? '', 'base64url').toString())
    return isObject(claims) ? { ...claims } : undefined
  } catch {
    return undefined
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
