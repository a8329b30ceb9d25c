import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { bodyDigest, headerOf, identify, readJson } from './body.ts'
import { decodeDigest } from './digest.ts'
import { createScheme } from './create-scheme.ts'
import type { Check, Scheme, TimedOptions } from './scheme.ts'
import { malformed, refuse } from './results.ts'
import { defaultTolerance, checkTime, shownAt } from './timestamp.ts'

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
    check: (secrets) => sendgridCheck(secrets, options.tolerance),
    read({ rawBody }) {
      const body = readJson(rawBody)
      if ('rejected' in body) return body
      return Array.isArray(body.value)
        ? identify(bodyDigest(rawBody), 'batch')
        : malformed('The body is not an array of events.')
    },
  })
}

function sendgridCheck(secrets: readonly string[], tolerance = defaultTolerance): Check {
  const keys = secrets.map((secret) => ({ secret, key: readKey(secret) }))
  return ({ rawBody, headers, now }) => {
    const signature = decodeDigest(
      headerOf(headers, 'x-twilio-email-event-webhook-signature') ?? '',
      'base64',
    )
    const timestamp = headerOf(headers, 'x-twilio-email-event-webhook-timestamp')
    if (!signature || timestamp === undefined)
      return refuse('the signature or its timestamp is missing', 'signature-missing')
    const message = Buffer.concat([Buffer.from(timestamp), rawBody])
    const found = keys.find(({ key }) => verify('sha256', message, key, signature))
    if (!found) return refuse('the signature does not match')
    return shownAt(found.secret, checkTime(timestamp, now, tolerance))
  }
}

function readKey(secret: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
  } catch (cause) {
    throw new TypeError('sendgrid: the secret is the verification key, as its settings show it', { cause })
  }
}
