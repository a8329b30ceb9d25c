import { bodyDigest, fromObject, identify, valueAt } from './body.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerJson, createScheme, malformed, type Scheme, type SourceOptions } from './scheme.ts'

/**
 * What a token is made of. Anybody may ask for its HMAC, by the same secret that signs events: were a token a JSON object,
 * its answer would be the signature of a forged event.
 */
const tokenForm = /^[\w.~+/=-]{1,512}$/

/**
 * X (Twitter), with the app's consumer secret: `x-twitter-webhooks-signature: sha256=<base64>`, HMAC-SHA256 over the body.
 * The challenge-response check, a GET with `crc_token`, is answered with the token's HMAC, by the first secret. The type is
 * `data.event_type` (X Activity) or the field that holds the events, such as `tweet_create_events` (Account Activity). X
 * sends no id, and the body's digest stands for it. X signs no time.
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
        if (!tokenForm.test(token)) return malformed('There is no crc_token, or none that X would send.')
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
