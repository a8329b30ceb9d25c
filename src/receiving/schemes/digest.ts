import { equalBytes } from '../../crypto/secrets.ts'
import { constants, createPublicKey, type KeyObject, type SigningOptions, verify } from 'node:crypto'

export type Encoding = 'hex' | 'base64'

/**
 * Signatures of a request that are verified at most, because that of a key pair takes a hash of the whole body. Senders send one for each of
 * their keys, of which Svix has at most eleven.
 */
export const mostSignatures = 16

const hex = /^(?:[0-9a-f]{2})+$/i
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Decodes a digest; hex digits may be of either case. Returns `undefined` for texts that are not of that form. */
export function decodeDigest(text: string, encoding: Encoding): Buffer | undefined {
  if (!(encoding === 'hex' ? hex : base64).test(text)) return undefined
  // Buffer.from would ignore a last character that does not complete a byte.
  if (encoding === 'base64' && text.replace(/={1,2}$/, '').length % 4 === 1) return undefined
  return Buffer.from(text, encoding)
}

/** Decodes a key of Standard Webhooks. In the alphabet of URLs, texts that are no base64 look valid, such as `polar_whs_…`. */
export function decodeKey(base64: string): Buffer | undefined {
  return /[_-]/.test(base64) ? undefined : decodeDigest(base64, 'base64')
}

/** Returns the index of the first expected digest that was received, or -1. All pairs are compared, each in constant time. */
export function findEqual(expected: readonly Uint8Array[], received: readonly Uint8Array[]): number {
  let found = -1
  for (const [index, one] of expected.entries())
    for (const other of received) if (equalBytes(one, other) && found === -1) found = index
  return found
}

/** The DER prefix of an ed25519 public key (RFC 8410, section 4). */
const derPrefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Makes an ed25519 public key from its 32 bytes. @throws TypeError for any other length. */
export function ed25519Key(bytes: Uint8Array): KeyObject {
  if (bytes.length !== 32) throw new TypeError('an ed25519 public key has 32 bytes')
  return createPublicKey({ key: Buffer.concat([derPrefix, bytes]), format: 'der', type: 'spki' })
}

/** How a signature is made with a private key. */
export interface KeyAlgorithm {
  /** Null for ed25519, which has its own. */
  readonly hash: string | null
  readonly type: 'rsa' | 'ec' | 'ed25519'
  readonly curve?: string
  readonly more?: SigningOptions
}

export const pss: SigningOptions = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
}
/** The two numbers of ECDSA in a row (IEEE P1363). The default is DER, as of OpenSSL. */
export const p1363: SigningOptions = { dsaEncoding: 'ieee-p1363' }
export const rsaSha256: KeyAlgorithm = { hash: 'sha256', type: 'rsa' }
export const ed25519: KeyAlgorithm = { hash: null, type: 'ed25519' }

/** RSA keys of fewer bits are not accepted (RFC 7518, section 3.3). */
const leastModulus = 2048

/** Whether the key is one of the algorithm. RSA keys need at least 2,048 bits. */
export function isKeyOf({ type, curve }: KeyAlgorithm, key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType !== type || (curve !== undefined && namedCurve !== curve)) return false
  return type !== 'rsa' || modulusLength >= leastModulus
}

/** Whether the key is of the algorithm, and its private half made the signature over the message. */
export function verifies(
  algorithm: KeyAlgorithm,
  key: KeyObject,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return isKeyOf(algorithm, key) && verify(algorithm.hash, message, { key, ...algorithm.more }, signature)
}
