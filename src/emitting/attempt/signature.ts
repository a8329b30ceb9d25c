import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
  createHash,
} from 'node:crypto'
import type { HmacKey } from '../../crypto/secrets.ts'
import { invalidBody } from '../../errors.ts'

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, "Signature scheme". */
const symmetricPrefix = 'whsec_'
const publicPrefix = 'whpk_'
/** The prefix of a private key: the base64 of seed and public key follows. */
export const privatePrefix = 'whsk_'
const leastBytes = 16
const mostBytes = 75

/** A key that signs: HMAC-SHA256 (`v1`) or ed25519 (`v1a`). */
export type SigningKey = { id: string } & ({ scheme: 'v1'; key: HmacKey } | { scheme: 'v1a'; key: KeyObject })

/** 32 random bytes. */
export function newSymmetricKey(): Buffer {
  return randomBytes(32)
}

export function writeSymmetricKey(key: Uint8Array): string {
  return symmetricPrefix + Buffer.from(key).toString('base64')
}

/**
 * Reads a secret that a caller chose: `whsec_` (or `v1,whsec_`, or nothing) and base64 with or without padding.
 * @throws Problem `invalid-body` that never repeats the secret.
 */
export function readSymmetricKey(text: string): Buffer {
  const base64 = text
    .trim()
    .replace(/^v1,/, '')
    .replace(/^whsec_/, '')
  const valid = /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
  const key = valid ? Buffer.from(base64, 'base64') : Buffer.alloc(0)
  // Encoding it again detects invalid lengths, which the decoder accepts.
  if (
    key.toString('base64').replaceAll('=', '') !== base64.replaceAll('=', '') ||
    key.length < leastBytes ||
    key.length > mostBytes
  ) {
    throw invalidBody(
      '/secret',
      `The secret must be ${symmetricPrefix} followed by the base64 of ${leastBytes} to ${mostBytes} bytes.`,
    )
  }
  return key
}

/**
 * Reads an ed25519 private key that a caller chose. Returns its seed.
 * @throws Problem `invalid-body` that never repeats the key
 */
export function readAsymmetricSeed(text: string): Buffer {
  const bytes = Buffer.from(text.slice(privatePrefix.length), 'base64')
  const seed = bytes.subarray(0, 32)
  const isPair =
    bytes.length === 64 &&
    text === privatePrefix + bytes.toString('base64') &&
    bytes.subarray(32).equals(publicBytes(seed))
  if (!isPair)
    throw invalidBody(
      '/secret',
      `The secret must be ${privatePrefix} followed by the base64 of an ed25519 seed and its public key.`,
    )
  return seed
}

/** The seed of a new ed25519 key, 32 bytes. */
export function newAsymmetricSeed(): Buffer {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
}

/** DER before the seed of an ed25519 private key (RFC 8410, section 7). */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex')

export function asymmetricKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' })
}

/** The public half, as subscribers get it: `whpk_` and base64. */
export function writePublicKey(seed: Uint8Array): string {
  return publicPrefix + publicBytes(seed).toString('base64')
}

/** The public half as a JSON Web Key (RFC 8037). */
export function publicJwk(seed: Uint8Array, kid: string) {
  return {
    kty: 'OKP',
    crv: 'Ed25519',
    x: publicBytes(seed).toString('base64url'),
    kid,
    alg: 'Ed25519',
    use: 'sig',
  }
}

function publicBytes(seed: Uint8Array): Buffer {
  return createPublicKey(asymmetricKey(seed)).export({ format: 'der', type: 'spki' }).subarray(-32)
}

/**
 * The value of `webhook-signature`: one signature per key over `id.timestamp.body`, separated by spaces. The body's
 * bytes are signed as they are.
 * @param timestamp seconds since 1970
 */
export function signatures(
  keys: readonly SigningKey[],
  id: string,
  timestamp: number,
  body: Uint8Array,
): string {
  const head = `${id}.${timestamp}.`
  return keys
    .map(({ scheme, key }) =>
      scheme === 'v1'
        ? `v1,${key.digest(head, body).toString('base64')}`
        : `v1a,${sign(null, Buffer.concat([Buffer.from(head), body]), key).toString('base64')}`,
    )
    .join(' ')
}

/** The signed components of a request. The digest covers the body. */
const always = ['@method', '@target-uri', 'content-type', 'content-digest']
const ofWebhook = [...always, 'webhook-id', 'webhook-timestamp']
const ofSvix = [...always, 'svix-id', 'svix-timestamp']
const algorithms = { v1: 'hmac-sha256', v1a: 'ed25519' } as const

interface SignedRequest {
  method: string
  /** The request URL. */
  url: string
  /** By lowercase names; must include the signed headers. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/**
 * The headers of HTTP Message Signatures (RFC 9421), one signature per key, and of the body's digest (RFC 9530).
 * `keyid` is the id of the key, as GET /subscribers/{id} and the published keys show it.
 * @param created seconds since 1970
 */
export function httpSignatureHeaders(
  keys: readonly SigningKey[],
  request: SignedRequest,
  created: number,
): Record<string, string> {
  const digest = `sha-256=:${createHash('sha256').update(request.body).digest('base64')}:`
  const values: Record<string, string> = {
    ...request.headers,
    'content-digest': digest,
    '@method': request.method,
    '@target-uri': request.url,
  }
  const components = values['webhook-id'] === undefined ? ofSvix : ofWebhook
  const lines = components.map((name) => `"${name}": ${values[name] ?? ''}\n`).join('')
  const list = components.map((name) => `"${name}"`).join(' ')
  const inputs: string[] = []
  const signatures: string[] = []
  for (const [index, key] of keys.entries()) {
    const label = `sig${index + 1}`
    const parameters = `(${list});created=${created};keyid="${key.id}";alg="${algorithms[key.scheme]}"`
    // RFC 9421, section 2.5: the signature base.
    const base = Buffer.from(`${lines}"@signature-params": ${parameters}`)
    const bytes = key.scheme === 'v1' ? key.key.digest(base) : sign(null, base, key.key)
    inputs.push(`${label}=${parameters}`)
    signatures.push(`${label}=:${bytes.toString('base64')}:`)
  }
  return {
    'content-digest': digest,
    'signature-input': inputs.join(', '),
    signature: signatures.join(', '),
  }
}
