import { bodyDigest, fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerText, createScheme, malformed, type Scheme, type SourceOptions } from './scheme.ts'

/**
 * Dropbox: `X-Dropbox-Signature`, hex HMAC-SHA256 over the body with the app secret. Its GET with `challenge` is answered.
 * The type is the body's first field, `list_folder`. A notification says only whose files have changed, so that two changes
 * have the same bytes, and there is neither an id nor a time: every request is an event of its own, a retry too, and the
 * handler asks Dropbox from its cursor.
 * https://www.dropbox.com/developers/reference/webhooks
 */
export function dropbox(options: SourceOptions): Scheme {
  return createScheme({
    name: 'dropbox',
    options,
    check: hmacCheck({ header: 'x-dropbox-signature' }),
    ask:
      () =>
      ({ query }) => {
        const challenge = query.get('challenge')
        return challenge === null ? malformed('There is no challenge.') : answerText(challenge)
      },
    read: fromObject((body, { rawBody, now }) => {
      received += 1
      return identify(`${now}-${received}-${bodyDigest(rawBody).slice(-16)}`, Object.keys(body)[0])
    }),
  })
}

/** Keeps apart what comes in one millisecond. */
let received = 0
