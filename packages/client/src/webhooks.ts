import { errorOf, type PosternError } from './errors.ts'
import { headerOf, type HeaderSource } from './http.ts'
import { webCrypto } from './tokens/crypto.ts'
import { bytesOfBase64, bytesOfText } from './tokens/encoding.ts'

export * from './errors.ts'

/** The body of a delivery. `data` is what was emitted. */
export interface WebhookEvent<Data = unknown> {
  /** Stable: a delivery may arrive twice. */
  id: string
  type: string
  /** ISO 8601. */
  timestamp: string
  data: Data
}

export interface WebhookOptions {
  /** Seconds that the time of signing may differ from now. Default 300. */
  tolerance?: number | undefined
  /** Milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** Postern signs with ten keys of each kind at most. More are not tried, so that a request costs a bounded time. */
const maxSignatures = 20
/** Bytes of an ed25519 key (RFC 8032, section 5.1.5). */
const publicKeyLength = 32
const keyForm = /^(?:v1,)?(whsec_|whpk_)?([A-Za-z0-9+/]+={0,2})$/

/**
 * Verifies a delivery of Postern, or of another sender that follows Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md), and returns the event.
 *
 * @param body the raw bytes, or the text that they are: not parsed and written again.
 * @param secret `whsec_…`, or the public key `whpk_…`; several while keys rotate.
 * @throws PosternError `invalid-signature` (401); TypeError when a secret is not of that form, or the body was parsed.
 */
export async function verifyWebhook<Data = unknown>(
  body: Uint8Array | ArrayBuffer | string,
  headers: HeaderSource | Readonly<Record<string, string | string[] | undefined>>,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now }: WebhookOptions = {},
): Promise<WebhookEvent<Data>> {
  const keys = [secret].flat().map(readKey)
  if (keys.length === 0) throw new TypeError('verifyWebhook needs a secret')
  const bytes = bytesOfBody(body)
  const source =
    'headers' in headers || typeof headers.get === 'function'
      ? (headers as HeaderSource)
      : { headers: headers as Record<string, string> }
  const [id, timestamp, list] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(source, name),
  )
  if (!id || !timestamp || !list) throw invalid('A header of Standard Webhooks is missing.')
  // The signed text is `id.timestamp.body`: with a full stop in the id its parts could be shifted. Postern sends none.
  if (id.includes('.')) throw invalid('Its id has a full stop.')
  // Written so that a tolerance that is not a number refuses.
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(now() / 1000 - Number(timestamp)) <= tolerance))
    throw invalid('It was signed too long ago, or in the future.')
  const head = bytesOfText(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  for (const signature of list.split(' ').slice(0, maxSignatures))
    for (const key of keys) if (await belongs(signature, key, signed)) return parse<Data>(bytes)
  throw invalid('No signature belongs to the body and the secret.')
}

/** @throws TypeError for what a framework made of the body, which would only look like a wrong signature. */
function bytesOfBody(body: Uint8Array | ArrayBuffer | string): Uint8Array {
  if (typeof body === 'string') return bytesOfText(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  // Not `instanceof`: test runners and frames have a constructor of their own.
  if (Object.prototype.toString.call(body) === '[object ArrayBuffer]') return new Uint8Array(body)
  throw new TypeError('verifyWebhook needs the raw bytes of the body, or their text: not the parsed body')
}

interface Key {
  version: 'v1' | 'v1a'
  bytes: Uint8Array<ArrayBuffer>
}

/** @param text of programs without types, `undefined` when a variable is not set */
function readKey(text: string | undefined): Key {
  const [, prefix, base64 = ''] = keyForm.exec(text?.trim() ?? '') ?? []
  const version = prefix === 'whpk_' ? 'v1a' : 'v1'
  const bytes = bytesOrNothing(base64)
  // The message does not repeat the secret.
  if (!bytes || (version === 'v1a' ? bytes.length !== publicKeyLength : bytes.length === 0))
    throw new TypeError('a secret of webhooks has the form whsec_… or whpk_…')
  return { version, bytes }
}

/** Web Crypto compares HMACs in constant time. */
async function belongs(signature: string, key: Key, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const comma = signature.indexOf(',')
  if (signature.slice(0, comma) !== key.version) return false
  const value = bytesOrNothing(signature.slice(comma + 1))
  if (!value) return false
  const { subtle } = await webCrypto()
  const algorithm = key.version === 'v1' ? { name: 'HMAC', hash: 'SHA-256' } : { name: 'Ed25519' }
  const imported = await subtle.importKey('raw', key.bytes, algorithm, false, ['verify'])
  return subtle.verify(algorithm.name, imported, value, signed)
}

function bytesOrNothing(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return bytesOfBase64(base64)
  } catch {
    return undefined
  }
}

function parse<Data>(bytes: Uint8Array): WebhookEvent<Data> {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WebhookEvent<Data>
  } catch (cause) {
    throw errorOf('invalid-body', 400, { detail: 'The body of the webhook is not JSON.', cause })
  }
}

function invalid(detail: string): PosternError {
  return errorOf('invalid-signature', 401, { detail: `The webhook is not accepted. ${detail}` })
}
