import { bodyDigest, form, identify, isObject, json, kindOf, readForm, readUnverifiedObject } from './body.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { preset } from './preset.ts'
import {
  type Check,
  checkTime,
  type Delivery,
  refuse,
  type Rejected,
  shownAt,
  type TimedOptions,
} from './scheme.ts'

/**
 * Seconds. Mailgun retries for eight hours with the same signature, so a shorter tolerance would refuse retries. The token is
 * the id, so a replay is a duplicate for as long as ids of processed events are stored.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries
 */
const retryTolerance = 9 * 3600

/**
 * Mailgun, with the HTTP webhook signing key: hex HMAC-SHA256 over a timestamp and a token in the body: in `signature` of JSON
 * (or `parent-signature` for the account above a subaccount), or in the fields of a route's form. The body itself is not
 * signed: an attacker who sees a signature, which https prevents, can send it with another body before the real one arrives.
 * The id is the token, so that one signature is one event; `event-data.id` has Mailgun's own id. The type is
 * `event-data.event`, such as `delivered`, or `route` for mail that a route forwards as a form without attachments. The
 * default `tolerance` is nine hours.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 */
export const mailgun = preset<TimedOptions>('mailgun', {
  mediaTypes: [json, form],
  caution:
    'gets a signature that does not cover the body: anyone who sees a request before it arrives can send its signature with another body',
  check: (secrets, { tolerance }) => mailgunCheck(secrets, tolerance),
  read(delivery) {
    const signature = readSignature(delivery)
    if ('rejected' in signature) return signature
    const { token, event } = signature
    return identify(token ?? bodyDigest(delivery.rawBody), event)
  },
})

interface Signature {
  timestamp?: unknown
  token?: unknown
  digests: readonly unknown[]
  event?: unknown
}

function mailgunCheck(secrets: readonly string[], tolerance = retryTolerance): Check {
  const keys = secrets.map((secret) => new HmacKey('sha256', secret))
  return (delivery) => {
    const signature = readSignature(delivery)
    if ('rejected' in signature) return signature
    const { timestamp, token, digests } = signature
    if (
      (typeof timestamp !== 'string' && typeof timestamp !== 'number') ||
      typeof token !== 'string' ||
      token === ''
    )
      return refuse('the body has no signature', 'signature-missing')
    const received = digests
      .map((digest) => (typeof digest === 'string' ? decodeDigest(digest, 'hex') : undefined))
      .filter((digest) => digest !== undefined)
    const found = findEqual(
      keys.map((key) => key.digest(`${timestamp}${token}`)),
      received,
    )
    if (found === -1) return refuse('the signature does not match')
    return shownAt(secrets[found]!, checkTime(String(timestamp), delivery.now, tolerance))
  }
}

function readSignature({ rawBody }: Delivery): Signature | Rejected {
  if (kindOf(rawBody) === 'form') {
    const sent = readForm(rawBody)
    if ('rejected' in sent) return sent
    const { field } = sent
    return {
      timestamp: field('timestamp'),
      token: field('token'),
      digests: [field('signature')],
      event: 'route',
    }
  }
  const body = readUnverifiedObject(rawBody)
  if ('rejected' in body) return body
  const { signature, 'event-data': data } = body.object
  if (!isObject(signature)) return { digests: [] }
  return {
    timestamp: signature['timestamp'],
    token: signature['token'],
    digests: [signature['signature'], signature['parent-signature']],
    event: isObject(data) ? data['event'] : undefined,
  }
}
