import { digestWithout, identify, readJson } from './body.ts'
import { parseExactly } from '../../json/exact.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { createScheme } from './create-scheme.ts'
import {
  type Check,
  checkTime,
  defaultTolerance,
  malformed,
  refuse,
  type Scheme,
  shownAt,
  type TimedOptions,
} from './scheme.ts'

export interface HubspotOptions extends TimedOptions {
  /** The address as HubSpot knows it. Default BASE_URL and the path. */
  url?: string
}

/**
 * HubSpot, version 3, with the app's client secret: `X-HubSpot-Signature-v3`, HMAC-SHA256 in base64 over the method, the
 * address, the body and `X-HubSpot-Request-Timestamp` (milliseconds). A request is an array of events. It is stored as one
 * event of type `batch`, and the handler iterates over it. The id is a digest of the events without their `attemptNumber`,
 * the only field that retries change.
 * https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation
 */
export function hubspot(options: HubspotOptions): Scheme {
  return createScheme({
    name: 'hubspot',
    options,
    check: (secrets) => hubspotCheck(secrets, options),
    read({ rawBody }) {
      // All digits count: two numbers beyond 2^53 are two events.
      const body = readJson(rawBody, parseExactly)
      if ('rejected' in body) return body
      return Array.isArray(body.value)
        ? identify(digestWithout(body.value, 'attemptNumber'), 'batch')
        : malformed('The body is not an array of events.')
    },
  })
}

function hubspotCheck(
  secrets: readonly string[],
  { tolerance = defaultTolerance, url }: HubspotOptions,
): Check {
  const keys = secrets.map((secret) => new HmacKey('sha256', secret))
  return (delivery) => {
    const { headers, rawBody, now } = delivery
    const { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': timestamp } = headers
    const received = typeof signature === 'string' ? decodeDigest(signature, 'base64') : undefined
    if (!received || typeof timestamp !== 'string')
      return refuse('x-hubspot-signature-v3 or its time is missing', 'signature-missing')
    const address = decodeSome(url ?? delivery.url ?? '')
    const expected = keys.map((key) => key.digest(`POST${address}`, rawBody, timestamp))
    const found = findEqual(expected, [received])
    if (found === -1) return refuse('x-hubspot-signature-v3 does not match')
    return shownAt(secrets[found]!, checkTime(timestamp, now, tolerance, 'milliseconds'))
  }
}

/** HubSpot signs the address with these characters decoded, and all others unchanged. */
function decodeSome(address: string): string {
  return address.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, decodeURIComponent)
}
