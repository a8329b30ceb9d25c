import { bodyDigest, fromObject, identify, valueAt } from './body.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerJson, malformed } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'

/**
 * The characters of a token. Anybody can request its HMAC, under the secret that also signs events: if a token could be a JSON
 * object, the response would be the signature of a forged event.
 */
const tokenForm = /^[\w.~+/=-]{1,512}$/

/**
 * X (Twitter), with the app's consumer secret: `x-twitter-webhooks-signature: sha256=<base64>`, HMAC-SHA256 over the body.
 * The challenge-response check, a GET with `crc_token`, is answered with the token's HMAC under the first secret. The type is
 * `data.event_type` (X Activity) or the field with the events, such as `tweet_create_events` (Account Activity). X sends no
 * id, so the id is the digest of the body. X signs no time.
 * https://docs.x.com/x-api/webhooks/quickstart
 */
export function x(options: SourceOptions): Scheme {
  return createScheme({
    name: 'x',
    options,
    check: hmacCheck({ header: 'x-twitter-webhooks-signature', prefix: 'sha256=', encoding: 'base64' }),
    ask:
      ([secret = '']) =>
      ({ query }) => {
        const token = query.get('crc_token') ?? ''
        if (!tokenForm.test(token))
          return malformed('The crc_token is missing, or contains characters that X does not use.')
        return answerJson({
          response_token: `sha256=${new HmacKey('sha256', secret).digest(token).toString('base64')}`,
        })
      },
    read: fromObject((body, { rawBody }) => {
      const events = Object.keys(body).find((name) => name.endsWith('_events'))
      return identify(bodyDigest(rawBody), valueAt(body, 'data.event_type') ?? events ?? 'event')
    }),
  })
}
