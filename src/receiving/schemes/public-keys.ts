import { createPublicKey, type KeyObject } from 'node:crypto'
import { bodyDigest, identify, readJson, readObject, valueAt } from './body.ts'
import { createScheme } from './create-scheme.ts'
import { decodeDigest, ed25519Key } from './digest.ts'
import { type Signed, signedCheck } from './hmac-check.ts'
import { type SignatureAlgorithm, verifies } from './public-key.ts'
import {
  answerEmpty,
  answerJson,
  malformed,
  type Reply,
  type Scheme,
  type TimedOptions,
  type VerificationResult,
} from './scheme.ts'

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
export function discord(options: TimedOptions): Scheme {
  return createScheme({
    name: 'discord',
    options,
    check: keyPairCheck(
      {
        header: 'x-signature-ed25519',
        timestampHeader: 'x-signature-timestamp',
        encoding: 'hex',
        tolerance: options.tolerance,
      },
      'ed25519',
      discordKey,
    ),
    read({ rawBody }): VerificationResult {
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
}

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
export function sendgrid(options: TimedOptions): Scheme {
  return createScheme({
    name: 'sendgrid',
    options,
    check: keyPairCheck(
      {
        header: 'x-twilio-email-event-webhook-signature',
        timestampHeader: 'x-twilio-email-event-webhook-timestamp',
        encoding: 'base64',
        tolerance: options.tolerance,
      },
      'ecdsa-sha256',
      sendgridKey,
    ),
    read({ rawBody }) {
      const body = readJson(rawBody)
      if ('rejected' in body) return body
      return Array.isArray(body.value)
        ? identify(bodyDigest(rawBody), 'batch')
        : malformed('The body is not an array of events.')
    },
  })
}

function sendgridKey(secret: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
  } catch (cause) {
    throw new TypeError('sendgrid: the secret is the verification key, as its settings show it', { cause })
  }
}

/** The check of a signature over the time and the body, made with the private half of a secret. */
function keyPairCheck(signed: Signed, algorithm: SignatureAlgorithm, readKey: (secret: string) => KeyObject) {
  return signedCheck({ template: '{timestamp}{body}', ...signed }, (secrets) => {
    const keys = secrets.map(readKey)
    return (parts, signatures) => {
      const message = Buffer.concat(parts.map((part) => Buffer.from(part)))
      return keys.findIndex((key) => signatures.some((one) => verifies(algorithm, key, message, one)))
    }
  })
}
