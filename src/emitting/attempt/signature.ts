import { createHash, type KeyObject, sign } from 'node:crypto'
import type { HmacKey } from '../../crypto/secrets.ts'

/** A key that signs: HMAC-SHA256 (`v1`) or ed25519 (`v1a`). */
export type SigningKey = { id: string } & ({ scheme: 'v1'; key: HmacKey } | { scheme: 'v1a'; key: KeyObject })

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
