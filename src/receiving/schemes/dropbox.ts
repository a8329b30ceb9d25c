import { newId } from '../../crypto/ids.ts'
import { fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerText, malformed } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'

/**
 * Dropbox: `X-Dropbox-Signature`, hex HMAC-SHA256 over the body with the app secret. Its GET with `challenge` is answered.
 * The type is the body's first field, `list_folder`. A notification only says whose files have changed, without an id or a
 * time, so two changes can have equal bodies. Therefore each request, also a retry, is a new event; the handler asks Dropbox
 * for the changes since its cursor.
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
    read: fromObject((body, { now }) => identify(newId(now), Object.keys(body)[0])),
  })
}
