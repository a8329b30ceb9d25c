import { digestWithout, identify, readJson } from './body.ts'
import { parseExactly } from '../../json/exact.ts'
import { preset } from './preset.ts'
import type { AddressedOptions } from './presets.ts'
import { malformed, type TimedOptions } from './scheme.ts'

export interface HubspotOptions extends TimedOptions, AddressedOptions {}

/**
 * HubSpot, version 3, with the app's client secret: `X-HubSpot-Signature-v3`, HMAC-SHA256 in base64 over the method, the
 * address, the body and `X-HubSpot-Request-Timestamp` (milliseconds). A request is an array of events. It is stored as one
 * event of type `batch`, and the handler iterates over it. The id is a digest of the events without their `attemptNumber`,
 * the only field that retries change.
 * https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation
 */
export const hubspot = preset<HubspotOptions>('hubspot', {
  signed: {
    header: 'x-hubspot-signature-v3',
    encoding: 'base64',
    timestampHeader: 'x-hubspot-request-timestamp',
    timestampUnit: 'milliseconds',
    template: 'POST{url}{body}{timestamp}',
    signedUrl: decodeSome,
  },
  read({ rawBody }) {
    // All digits count: two numbers beyond 2^53 are two events.
    const body = readJson(rawBody, parseExactly)
    if ('rejected' in body) return body
    return Array.isArray(body.value)
      ? identify(digestWithout(body.value, 'attemptNumber'), 'batch')
      : malformed('The body is not an array of events.')
  },
})

/** HubSpot signs the address with these characters decoded, and all others unchanged. */
function decodeSome(address: string): string {
  return address.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, decodeURIComponent)
}
