import { bodyDigest, fromObject, identify } from './body.ts'
import { timedPairsCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'

/**
 * Calendly: `Calendly-Webhook-Signature: t=<seconds>,v1=<hex>`, HMAC-SHA256 over `t.body` with the subscription's signing
 * key. The type is `event`, such as `invitee.created`. Calendly sends no id, so the id is the digest of the body, which
 * contains `created_at`.
 * https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures
 */
export function calendly(options: TimedOptions): Scheme {
  return createScheme({
    name: 'calendly',
    options,
    check: timedPairsCheck('calendly-webhook-signature', options),
    read: fromObject((body, { rawBody }) => identify(bodyDigest(rawBody), body['event'])),
  })
}
