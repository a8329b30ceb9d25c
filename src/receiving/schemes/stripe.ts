import { identify, readObject } from './body.ts'
import { anyEqual, decodeDigest, digestOf } from './digest.ts'
import { createScheme, refuse, type Scheme, type SourceOptions } from './scheme.ts'
import { defaultTolerance, isCurrent } from './timestamp.ts'

export interface StripeOptions extends SourceOptions {
  /** Seconds that the signed time may differ from ours. Default 300. */
  tolerance?: number
}

/**
 * Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 over `t.body` with the endpoint's `whsec_…` secret
 * as text. While a secret is rolled, Stripe sends one v1 for each. The id is the event's own (`evt_…`).
 * https://docs.stripe.com/webhooks/signature
 */
export function stripe(options: StripeOptions): Scheme {
  const { tolerance = defaultTolerance } = options
  return createScheme({
    name: 'stripe',
    options,
    verifier:
      (secrets) =>
      ({ rawBody, headers, now }) => {
        const header = headers['stripe-signature']
        if (typeof header !== 'string') return refuse('stripe-signature is missing')
        const { timestamp, digests } = parseHeader(header)
        if (timestamp === undefined || digests.length === 0)
          return refuse('stripe-signature has no t or no v1')
        const expected = secrets.map((secret) => digestOf('sha256', secret, `${timestamp}.`, rawBody))
        if (!anyEqual(expected, digests)) return refuse('stripe-signature does not match')
        if (!isCurrent(timestamp, now, tolerance)) return refuse('the signed time is too far from ours')
        const body = readObject(rawBody)
        return 'rejected' in body ? body : identify(body.object['id'], body.object['type'])
      },
  })
}

function parseHeader(header: string): { timestamp: string | undefined; digests: Buffer[] } {
  let timestamp: string | undefined
  const digests: Buffer[] = []
  for (const item of header.split(',')) {
    const [name, value = ''] = item.trim().split('=', 2)
    if (name === 't') timestamp = value
    const digest = name === 'v1' ? decodeDigest(value, 'hex') : undefined
    if (digest) digests.push(digest)
  }
  return { timestamp, digests }
}
