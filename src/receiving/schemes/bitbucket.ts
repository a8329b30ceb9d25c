import { bodyDigest, fromObject, headerOf, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/**
 * Bitbucket, Cloud and Data Center: `X-Hub-Signature: sha256=<hex>`, HMAC-SHA256 over the body. The type is `X-Event-Key`, such
 * as `repo:push`. The id is `X-Request-UUID` (Cloud) or `X-Request-Id` (Data Center). The id and the time are not signed, and
 * Bitbucket does not document whether retries repeat the id; `id: 'digest'` uses the body instead.
 * https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
 * https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html
 */
export function bitbucket(options: SourceOptions & UnsignedIdOptions): Scheme {
  return createScheme({
    name: 'bitbucket',
    options,
    check: hmacCheck({ header: 'x-hub-signature', prefix: 'sha256=' }),
    read: fromObject((body, { rawBody, headers }) => {
      const id =
        headerOf(headers, 'x-request-uuid') ?? headerOf(headers, 'x-request-id') ?? bodyDigest(rawBody)
      return identify(
        idBy(options, rawBody, () => id),
        headerOf(headers, 'x-event-key'),
      )
    }),
  })
}
