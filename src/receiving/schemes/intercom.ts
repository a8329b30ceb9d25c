import { bodyDigest, fromObject, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerEmpty } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'

/**
 * Intercom: `X-Hub-Signature: sha1=<hex>`, HMAC-SHA1 over the body with the app's client secret. The id is that of the
 * notification (`notif_…`), the type its `topic`. The `ping` of Intercom's test has none, so its id is the digest of the body, which contains
 * `created_at`. Intercom tests an address with HEAD, which is answered. It signs no time.
 * https://developers.intercom.com/docs/webhooks/setting-up-webhooks
 */
export function intercom(options: SourceOptions): Scheme {
  return createScheme({
    name: 'intercom',
    options,
    check: hmacCheck({ header: 'x-hub-signature', algorithm: 'sha1', prefix: 'sha1=' }),
    ask: () => () => answerEmpty(),
    read: fromObject((body, { rawBody }) => identify(body['id'] ?? bodyDigest(rawBody), body['topic'])),
  })
}
