import { bodyDigest, identify, readObject, valueAt } from './body.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerJson } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'

/**
 * Zoom: `x-zm-signature: v0=<hex>`, HMAC-SHA256 over `v0:<x-zm-request-timestamp>:<body>` with the app's secret token.
 * `endpoint.url_validation`, which is signed as well, is answered with its token and the token's HMAC. The type is `event`.
 * Zoom sends no id, so the id is the digest of the body, which contains `event_ts`. Zoom does not document whether retries
 * have a new time and signature: raise `tolerance` if they are refused.
 * https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events
 */
export function zoom(options: TimedOptions): Scheme {
  return createScheme({
    name: 'zoom',
    options,
    check: hmacCheck({
      header: 'x-zm-signature',
      prefix: 'v0=',
      timestampHeader: 'x-zm-request-timestamp',
      template: 'v0:{timestamp}:{body}',
      tolerance: options.tolerance,
    }),
    read({ rawBody }, { secret }) {
      const body = readObject(rawBody)
      if ('rejected' in body) return body
      const plainToken = valueAt(body.object, 'payload.plainToken')
      if (body.object['event'] === 'endpoint.url_validation' && typeof plainToken === 'string') {
        const encryptedToken = new HmacKey('sha256', secret).digest(plainToken).toString('hex')
        return answerJson({ plainToken, encryptedToken })
      }
      return identify(bodyDigest(rawBody), body.object['event'])
    },
  })
}
