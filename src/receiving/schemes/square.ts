import { fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'

export interface AddressedOptions extends SourceOptions {
  /** The address as the sender knows it. Default BASE_URL and the path. */
  url?: string
}

/**
 * Square: `x-square-hmacsha256-signature`, HMAC-SHA256 in base64 over the notification URL and the body, with the
 * subscription's signature key. The URL must equal that of the subscription exactly. The id is `event_id`, the type
 * `type`. Square signs no time.
 * https://developer.squareup.com/docs/webhooks/step3validate
 */
export function square(options: AddressedOptions): Scheme {
  return createScheme({
    name: 'square',
    options,
    check: hmacCheck({
      header: 'x-square-hmacsha256-signature',
      encoding: 'base64',
      template: '{url}{body}',
      url: options.url,
    }),
    read: fromObject((body) => identify(body['event_id'], body['type'])),
  })
}
