import { fromObject, identify } from './body.ts'
import { timedPairsCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'
import type { StripeEvent } from './stripe-event.ts'

/**
 * Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 over `t.body` with the endpoint's `whsec_…` secret
 * as text. During a rotation, there is one v1 for each secret. The id is that of the event (`evt_…`).
 * https://docs.stripe.com/webhooks/signature
 */
export function stripe(options: TimedOptions): Scheme<StripeEvent> {
  return createScheme({
    name: 'stripe',
    options,
    check: timedPairsCheck('stripe-signature', options),
    read: fromObject((body) => identify(body['id'], body['type'])),
  })
}
