import { equalBytes } from '../../crypto/constant-time.ts'
import { bodyDigest, fromObject, headerOf, identify, kindAndAction, valueAt } from './body.ts'
import { createScheme, refuse, type Check, type Scheme, type TimedOptions } from './scheme.ts'
import { standardCheck } from './standard-webhooks.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/**
 * GitLab, in both of its ways. A secret that begins with `whsec_` is a signing token, and what it signs is verified as
 * Standard Webhooks do; any other is the secret token, which GitLab sends as it is in `X-Gitlab-Token`, without signing
 * anything. The id is `webhook-id`, or `Idempotency-Key` (GitLab 17.4), or `X-Gitlab-Event-UUID`; older ones send none, and
 * the body's digest stands for it, as with `id: 'digest'`. The type is `object_kind`, or the `event_name` of system hooks, followed by the action:
 * `push`, `merge_request.open`.
 * https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export function gitlab(options: TimedOptions & UnsignedIdOptions): Scheme {
  return createScheme({
    name: 'gitlab',
    options,
    typesHaveActions: true,
    check: (secrets) => gitlabCheck(secrets, options.tolerance),
    read: fromObject((body, { rawBody, headers }) => {
      const { object_kind: kind, event_name: name } = body
      const id =
        headerOf(headers, 'webhook-id') ??
        headerOf(headers, 'idempotency-key') ??
        headerOf(headers, 'x-gitlab-event-uuid') ??
        bodyDigest(rawBody)
      return identify(
        idBy(options, rawBody, () => id),
        kindAndAction(kind ?? name, valueAt(body, 'object_attributes.action')),
      )
    }),
  })
}

function gitlabCheck(secrets: readonly string[], tolerance: number | undefined): Check {
  const signing = secrets.filter((secret) => secret.startsWith('whsec_'))
  const isSigned = signing.length > 0 ? standardCheck(signing, tolerance) : undefined
  const tokens = secrets.filter((secret) => !secret.startsWith('whsec_'))
  return (delivery) => {
    if (isSigned && delivery.headers['webhook-signature'] !== undefined) {
      const found = isSigned(delivery)
      if ('secret' in found || tokens.length === 0) return found
    }
    const sent = Buffer.from(headerOf(delivery.headers, 'x-gitlab-token') ?? '')
    const secret = tokens.find((token) => equalBytes(Buffer.from(token), sent))
    return secret === undefined ? refuse('x-gitlab-token does not match') : { secret }
  }
}
