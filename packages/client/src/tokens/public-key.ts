import { nodeCrypto, webCrypto } from './crypto.ts'

/** A key of the service's JWK set (RFC 7517). */
export interface Jwk {
  kid?: string
  kty?: string
  crv?: string
  alg?: string
  use?: string
  x?: string
  y?: string
  n?: string
  e?: string
}

export type Algorithm = 'ES256' | 'RS256' | 'EdDSA'

export interface PublicKey {
  algorithm: Algorithm
  /** Whether the signature belongs to the data. */
  verify(data: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>): boolean | Promise<boolean>
}

interface Kind {
  import: { name: string; namedCurve?: string; hash?: string }
  verify: { name: string; hash?: string }
  hash: string | null
}

const kinds: Record<Algorithm, Kind> = {
  ES256: {
    import: { name: 'ECDSA', namedCurve: 'P-256' },
    verify: { name: 'ECDSA', hash: 'SHA-256' },
    hash: 'sha256',
  },
  RS256: {
    import: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    verify: { name: 'RSASSA-PKCS1-v1_5' },
    hash: 'sha256',
  },
  EdDSA: { import: { name: 'Ed25519' }, verify: { name: 'Ed25519' }, hash: null },
}

/** Characters of an RSA modulus of 2048 bits in base64url: shorter keys are refused (RFC 7518, section 3.3). */
const leastModulus = 342

/** The algorithm of a key for signatures, by its type and not by what a token says; `undefined` when it is another key. */
function algorithmOf({ kty, crv, alg, use, n = '' }: Jwk): Algorithm | undefined {
  if (use !== undefined && use !== 'sig') return undefined
  const is = (...names: string[]): boolean => alg === undefined || names.includes(alg)
  if (kty === 'EC' && crv === 'P-256' && is('ES256')) return 'ES256'
  if (kty === 'RSA' && n.length >= leastModulus && is('RS256')) return 'RS256'
  if (kty === 'OKP' && crv === 'Ed25519' && is('EdDSA', 'Ed25519')) return 'EdDSA'
  return undefined
}

/** Imports a public key; `undefined` when it is of a kind that this library does not verify with. */
export async function importPublicKey(jwk: Jwk): Promise<PublicKey | undefined> {
  const algorithm = algorithmOf(jwk)
  if (algorithm === undefined) return undefined
  const { kty, crv, x, y, n, e } = jwk
  // Without `alg`, `use` and `key_ops`, about which runtimes disagree; the first two are checked above.
  const bare = Object.fromEntries(
    Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined),
  )
  const { import: parameters, verify, hash } = kinds[algorithm]
  if (nodeCrypto) {
    const node = nodeCrypto
    const key = {
      key: node.createPublicKey({ key: bare, format: 'jwk' }),
      dsaEncoding: 'ieee-p1363',
    } as const
    return { algorithm, verify: (data, signature) => node.verify(hash, data, key, signature) }
  }
  const { subtle } = await webCrypto()
  const key = await subtle.importKey('jwk', bare, parameters, false, ['verify'])
  return { algorithm, verify: (data, signature) => subtle.verify(verify, key, signature, data) }
}
