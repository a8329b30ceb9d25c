import { bodyDigest, headerOf, identify, kindAndAction, readObject } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme, refuse, type Scheme, type TimedOptions } from './scheme.ts'
import { defaultTolerance, isCurrent } from './timestamp.ts'

/**
 * Linear: `Linear-Signature`, hex HMAC-SHA256 over the body, in which the signed time is `webhookTimestamp`, in
 * milliseconds (Linear advises to allow 60 s). The id is `Linear-Delivery`, which is not signed. The type is the body's,
 * followed by the action: `Issue.create`.
 * https://linear.app/developers/webhooks
 */
export function linear(options: TimedOptions): Scheme {
  const { tolerance = defaultTolerance } = options
  return createScheme({
    name: 'linear',
    options,
    typesHaveActions: true,
    check: hmacCheck({ header: 'linear-signature' }),
    read({ rawBody, headers, now }) {
      const body = readObject(rawBody)
      if ('rejected' in body) return body
      const { webhookTimestamp, type, action } = body.object
      if (!isCurrent(String(webhookTimestamp), now, tolerance, 'milliseconds'))
        return refuse('webhookTimestamp is too far from our time')
      return identify(
        headerOf(headers, 'linear-delivery') ?? bodyDigest(rawBody),
        kindAndAction(type, action),
      )
    },
  })
}
