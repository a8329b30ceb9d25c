import { bodyDigest, form, hasMediaType, identify, isObject, json, readForm, readObject } from './body.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { createScheme, refuse, type Check, type Delivery, type Scheme, type TimedOptions } from './scheme.ts'
import { checkTime, shownAt } from './timestamp.ts'

/**
 * Seconds. Mailgun tries again for eight hours, and is seen to send the same signature then: with less, every retry would
 * be refused. That the id is the token keeps replays out for as long as processed events are remembered.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries
 */
const retryTolerance = 9 * 3600

/**
 * Mailgun, with the HTTP webhook signing key: hex HMAC-SHA256 over a timestamp and a token that stand in the body itself,
 * as `signature` in JSON (or `parent-signature` for the account above a subaccount), as fields in a route's form. The body
 * is not signed: whoever has seen one signature, which https prevents, can put it on a body of their own until the real one
 * has come. The id is the token, so that one signature is one event; Mailgun's own ids are `event-data.id`. The type is
 * `event-data.event`, such as `delivered`, or `route` for mail that a route forwards as a form without attachments. The
 * signed time may differ by nine hours unless `tolerance` says otherwise.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 */
export function mailgun(options: TimedOptions): Scheme {
  return createScheme({
    name: 'mailgun',
    options,
    mediaTypes: [json, form],
    check: (secrets) => mailgunCheck(secrets, options.tolerance),
    read(delivery) {
      const { token, event } = readSignature(delivery)
      return identify(token ?? bodyDigest(delivery.rawBody), event)
    },
  })
}

interface Signature {
  timestamp?: unknown
  token?: unknown
  digests: readonly unknown[]
  event?: unknown
}

function mailgunCheck(secrets: readonly string[], tolerance = retryTolerance): Check {
  const keys = secrets.map((secret) => new HmacKey('sha256', secret))
  return (delivery) => {
    const { timestamp, token, digests } = readSignature(delivery)
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

function readSignature({ rawBody, headers }: Delivery): Signature {
  if (hasMediaType(headers, form)) {
    const fields = readForm(rawBody)
    const digests = [fields.get('signature')]
    return { timestamp: fields.get('timestamp'), token: fields.get('token'), digests, event: 'route' }
  }
  const body = readObject(rawBody)
  if ('rejected' in body) return { digests: [] }
  const { signature, 'event-data': data } = body.object
  if (!isObject(signature)) return { digests: [] }
  return {
    timestamp: signature['timestamp'],
    token: signature['token'],
    digests: [signature['signature'], signature['parent-signature']],
    event: isObject(data) ? data['event'] : undefined,
  }
}
