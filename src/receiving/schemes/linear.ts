import { bodyDigest, fromObject, headerOf, identify, kindAndAction } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'
import { defaultTolerance, checkTime } from './timestamp.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/**
 * Linear: `Linear-Signature`, hex HMAC-SHA256 over the body, which contains the time as `webhookTimestamp` in milliseconds
 * (Linear recommends a tolerance of 60 s). The id is `Linear-Delivery`, which is not signed; `id: 'digest'` uses the body instead.
 * The type is that of the body, with the action: `Issue.create`.
 * https://linear.app/developers/webhooks
 */
export function linear(options: TimedOptions & UnsignedIdOptions): Scheme {
  const { tolerance = defaultTolerance } = options
  return createScheme({
    name: 'linear',
    options,
    typesHaveActions: true,
    check: hmacCheck({ header: 'linear-signature' }),
    read: fromObject((body, { rawBody, headers, now }) => {
      const { webhookTimestamp, type, action } = body
      const time = checkTime(String(webhookTimestamp), now, tolerance, 'milliseconds')
      if ('rejected' in time) return time
      const delivery = headerOf(headers, 'linear-delivery') ?? bodyDigest(rawBody)
      const id = idBy(options, rawBody, () => delivery)
      const identified = identify(id, kindAndAction(type, action))
      return 'id' in identified ? { ...identified, signedAt: time.signedAt } : identified
    }),
  })
}
