import { headerOf, kindAndAction, type UnsignedIdOptions, valueAt, withDigest } from './body.ts'
import { preset } from './preset.ts'
import { comparedCheck, repeatsCredential } from './credentials.ts'
import type { Check, TimedOptions } from './scheme.ts'
import { standardCheck } from './standard-webhooks.ts'

/**
 * GitLab, with a signing token or a secret token. A secret that begins with `whsec_` is a signing token, which signs as Standard
 * Webhooks do. Any other is a secret token, which GitLab sends in `X-Gitlab-Token` without signing anything. The id is
 * `webhook-id` or `Idempotency-Key` (GitLab 17.4). Older versions send `X-Gitlab-Event-UUID`, which all webhooks have that one of
 * them triggers, and bodies without a time, such as that of a deleted tag; so the id is both, the UUID and the digest. With
 * `id: 'digest'` it is the digest alone. The type is `object_kind`, or `event_name` of system hooks, with the action: `push`,
 * `merge_request.open`.
 * https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export const gitlab = preset<TimedOptions & UnsignedIdOptions>('gitlab', {
  typesHaveActions: true,
  caution: (secrets) => (secrets.some((one) => !isSigning(one)) ? repeatsCredential : undefined),
  check: (secrets, { tolerance }) => gitlabCheck(secrets, tolerance),
  id: (_, { rawBody, headers }) =>
    headerOf(headers, 'webhook-id') ??
    headerOf(headers, 'idempotency-key') ??
    withDigest(headerOf(headers, 'x-gitlab-event-uuid'), rawBody),
  type: (body) =>
    kindAndAction(body['object_kind'] ?? body['event_name'], valueAt(body, 'object_attributes.action')),
})

const isSigning = (secret: string): boolean => secret.startsWith('whsec_')

function gitlabCheck(secrets: readonly string[], tolerance: number | undefined): Check {
  const signing = secrets.filter(isSigning)
  const isSigned = signing.length > 0 ? standardCheck(signing, tolerance) : undefined
  const tokens = secrets.filter((secret) => !isSigning(secret))
  const isToken = comparedCheck('x-gitlab-token', ({ headers }) => headerOf(headers, 'x-gitlab-token'))(
    tokens,
  )
  return (delivery) => {
    if (isSigned && delivery.headers['webhook-signature'] !== undefined) {
      const found = isSigned(delivery)
      if ('secret' in found || tokens.length === 0) return found
    }
    return isToken(delivery)
  }
}
