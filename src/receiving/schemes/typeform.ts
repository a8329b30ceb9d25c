import { fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'

/**
 * Typeform: `Typeform-Signature: sha256=<base64>`, HMAC-SHA256 over the body. The id is `event_id`, the type `event_type`,
 * such as `form_response`. Typeform signs no time.
 * https://www.typeform.com/developers/webhooks/secure-your-webhooks/
 */
export function typeform(options: SourceOptions): Scheme {
  return createScheme({
    name: 'typeform',
    options,
    check: hmacCheck({ header: 'typeform-signature', prefix: 'sha256=', encoding: 'base64' }),
    read: fromObject((body) => identify(body['event_id'], body['event_type'])),
  })
}
