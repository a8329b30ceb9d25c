import { createPublicKey, type KeyObject, type webcrypto, X509Certificate } from 'node:crypto'
import {
  bodyDigest,
  identify,
  readJson,
  readObject,
  valueAt,
  placedReader,
  type PlacedOptions,
} from './body.ts'
import { createScheme } from './create-scheme.ts'
import {
  decodeDigest,
  ed25519,
  ed25519Key,
  isKeyOf,
  type KeyAlgorithm,
  p1363,
  pss,
  rsaSha256,
  verifies,
} from './digest.ts'
import { type Matcher, readSigned, type Signed, signedCheck } from './hmac.ts'
import { preset } from './preset.ts'
import {
  answerEmpty,
  answerJson,
  malformed,
  type Reply,
  type Scheme,
  type TimedOptions,
  type CommonOptions,
  type Secret,
} from './scheme.ts'
import { Fetched } from './fetched.ts'

const noContent: Reply = { status: 204, body: '' }
const reply = (type: number): Reply => ({
  status: 200,
  body: JSON.stringify({ type }),
  contentType: 'application/json',
})

/** The kinds of interactions, each with the deferred response: the handler responds later through the API. */
const interactions: Readonly<Record<number, { name: string; reply: Reply }>> = {
  2: { name: 'application_command', reply: reply(5) },
  3: { name: 'message_component', reply: reply(6) },
  4: { name: 'autocomplete', reply: { ...reply(8), body: '{"type":8,"data":{"choices":[]}}' } },
  5: { name: 'modal_submit', reply: reply(5) },
}

/**
 * Discord, with the application's public key (hex) as the secret: `X-Signature-Ed25519` over `X-Signature-Timestamp` and the
 * body. Webhook events and interactions need separate sources. Webhook events: type `event.type`, such as
 * `APPLICATION_AUTHORIZED`; the id is the digest of the body, which contains the event's time; the response is 204.
 * Interactions: id `id`, type `application_command`, `message_component`, `autocomplete`, `modal_submit`; the response is
 * deferred, since handlers run later. Both send a PING, which is answered.
 * https://docs.discord.com/developers/events/webhook-events
 * https://docs.discord.com/developers/interactions/receiving-and-responding
 */
export const discord = preset<TimedOptions>('discord', {
  signed: {
    header: 'x-signature-ed25519',
    timestampHeader: 'x-signature-timestamp',
    template: '{timestamp}{body}',
    encoding: 'hex',
    match: keyMatcher('ed25519', (secrets) => secrets.map(discordKey)),
  },
  read({ rawBody }) {
    const body = readObject(rawBody)
    if ('rejected' in body) return body
    const { type, event, id } = body.object
    if (type === 0) return answerEmpty(204)
    if (event !== undefined) return identify(bodyDigest(rawBody), valueAt(event, 'type'), noContent)
    if (type === 1) return answerJson({ type: 1 })
    const interaction = typeof type === 'number' ? interactions[type] : undefined
    return identify(
      id,
      interaction?.name ?? (typeof type === 'number' ? String(type) : type),
      interaction?.reply,
    )
  },
})

function discordKey(secret: string): KeyObject {
  const bytes = decodeDigest(secret, 'hex')
  if (bytes?.length !== 32)
    throw new TypeError("discord: the secret is the application's public key, 64 hex digits")
  return ed25519Key(bytes)
}

/**
 * SendGrid's Event Webhook, with its verification key (base64) as the secret: ECDSA on P-256 with SHA-256 over the timestamp
 * and the body, in `X-Twilio-Email-Event-Webhook-Signature` and `-Timestamp`. A request is an array of events. It is stored as
 * one event of type `batch`, and the handler iterates over it. The id is the digest of the body. A retried event can be in
 * another batch; its `sg_event_id` identifies it. SendGrid does not document whether retries have a new time and signature:
 * raise `tolerance` if Postern rejects them.
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 */
export const sendgrid = preset<TimedOptions>('sendgrid', {
  signed: {
    header: 'x-twilio-email-event-webhook-signature',
    timestampHeader: 'x-twilio-email-event-webhook-timestamp',
    template: '{timestamp}{body}',
    encoding: 'base64',
    match: keyMatcher('ecdsa-sha256', (secrets) => secrets.map(sendgridKey)),
  },
  read({ rawBody }) {
    const body = readJson(rawBody)
    if ('rejected' in body) return body
    return Array.isArray(body.value)
      ? identify(bodyDigest(rawBody), 'batch')
      : malformed('The body is not an array of events.')
  },
})

function sendgridKey(secret: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
  } catch (cause) {
    throw new TypeError('sendgrid: the secret is the verification key, as its settings show it', { cause })
  }
}

const algorithms = {
  ed25519,
  'rsa-sha256': rsaSha256,
  'rsa-sha512': { hash: 'sha512', type: 'rsa' },
  'rsa-pss-sha256': { ...rsaSha256, more: pss },
  'ecdsa-sha256': { hash: 'sha256', type: 'ec' },
  'ecdsa-sha256-p1363': { hash: 'sha256', type: 'ec', more: p1363 },
} satisfies Record<string, KeyAlgorithm>

type SignatureAlgorithm = keyof typeof algorithms

export interface PublicKeyOptions
  extends CommonOptions, PlacedOptions, Omit<Signed, 'template' | 'header' | 'signedUrl'> {
  algorithm: SignatureAlgorithm
  /** The sender's public key: PEM of a key or certificate, base64 of DER, a JWK, or of ed25519 the 32 bytes in hex or base64. */
  key?: Secret
  /** Instead of `key`: where the sender publishes it, as PEM or as a JWK set. It is fetched when it is needed, and cached for an hour. */
  url?: string
  /** The header of the signature, in upper or lower case. Default encoding: base64. */
  header: string
  /** The signed text, as of `hmac()`, where `{url}` is the public address of the source. Default `{body}`. */
  signed?: string
}

/**
 * Any sender that signs with a private key and sends the signature in a header; the options describe the differences as those of
 * `hmac()` do. The id and the type are read as by `hmac()`.
 * @throws TypeError if the options contradict each other, or the key is of another algorithm.
 */
export function publicKey(options: PublicKeyOptions): Scheme {
  const { algorithm, key, url, encoding = 'base64' } = options
  if ((key === undefined) === (url === undefined))
    throw new TypeError('publicKey: declare either `key` or `url`')
  const signed = readSigned('publicKey', options)
  const { header, template } = signed
  const published = new Fetched({
    parse: (text) => readKeys(text).filter((one) => isKeyOf(algorithms[algorithm], one)),
  })
  return createScheme({
    name: 'public-key',
    options: { ...options, secret: key ?? (url === undefined ? undefined : [url]) },
    isPublic: true,
    mediaTypes: options.mediaTypes,
    signatureHeader: header,
    signs: `signs ${template === '{body}' ? 'the raw body' : `\`${template}\``} (${algorithm}) and sends the signature in the header \`${header}\``,
    // Its `url` is that of the key, not of the source.
    check: signedCheck(
      { ...signed, encoding, url: undefined },
      keyMatcher(algorithm, (secrets) =>
        url === undefined ? secrets.map((secret) => readKey(algorithm, secret)) : published,
      ),
    ),
    read: placedReader(options),
  })
}

/** Matches signatures that the private half of a key made. @param keysOf the keys of the secrets, or what fetches them from the first one */
function keyMatcher(
  algorithm: SignatureAlgorithm,
  keysOf: (secrets: readonly string[]) => readonly KeyObject[] | Fetched<KeyObject[]>,
): Matcher {
  return (secrets) => {
    const keys = keysOf(secrets)
    return (parts, signatures, { now }) => {
      const message = Buffer.concat(parts.map((part) => Buffer.from(part)))
      const isSigned = (key: KeyObject): boolean =>
        signatures.some((one) => verifies(algorithms[algorithm], key, message, one))
      if (!(keys instanceof Fetched)) return keys.findIndex(isSigned)
      const found = keys.at(secrets[0]!, now)
      if (!('value' in found)) return found
      return found.value.some(isSigned) ? 0 : (keys.again(secrets[0]!, now) ?? -1)
    }
  }
}

/** @throws TypeError */
function readKey(algorithm: SignatureAlgorithm, text: string): KeyObject {
  let key: KeyObject | undefined
  try {
    const raw =
      algorithm === 'ed25519' ? (decodeDigest(text, 'hex') ?? decodeDigest(text, 'base64')) : undefined
    key = raw?.length === 32 ? ed25519Key(raw) : readKeys(text)[0]
  } catch (cause) {
    throw new TypeError('publicKey: `key` is no public key in PEM, base64 of DER, or JWK', { cause })
  }
  if (!key || !isKeyOf(algorithms[algorithm], key))
    throw new TypeError(`publicKey: \`key\` is no key for ${algorithm}`)
  return key
}

/** Reads PEM (keys or certificates), a JWK, a JWK set, or base64 of DER. @throws Error for anything else */
function readKeys(text: string): KeyObject[] {
  const pem = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g)
  if (pem)
    return pem.map((one) =>
      one.includes('CERTIFICATE') ? new X509Certificate(one).publicKey : createPublicKey(one),
    )
  if (text.trimStart().startsWith('{')) {
    const read = JSON.parse(text) as { keys?: webcrypto.JsonWebKey[] } & webcrypto.JsonWebKey
    return (read.keys ?? [read]).map((key) => createPublicKey({ key, format: 'jwk' }))
  }
  return [createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })]
}
