import { fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'

/**
 * Paddle Billing: `Paddle-Signature: ts=<seconds>;h1=<hex>[;h1=…]`, HMAC-SHA256 over `ts:body` with the destination's
 * secret key. During a rotation of the key, there are several h1. The id is `event_id`, the type `event_type`. Paddle's own
 * libraries have a tolerance of 5 s.
 * https://developer.paddle.com/webhooks/signature-verification
 */
export function paddle(options: TimedOptions): Scheme {
  return createScheme({
    name: 'paddle',
    options,
    check: hmacCheck({
      header: 'paddle-signature',
      pairs: { separator: ';', signature: 'h1', timestamp: 'ts' },
      template: '{timestamp}:{body}',
      tolerance: options.tolerance,
    }),
    read: fromObject((body) => identify(body['event_id'], body['event_type'])),
  })
}
