import { hmacOf, secondsOf, splitType, type SignSample } from './sample.ts'

/** GitLab: a secret of `whsec_…` signs, any other goes along. https://docs.gitlab.com/user/project/integrations/webhooks/ */
export const gitlab: SignSample = ({ type, secret, id, now, data }) => {
  const [kind, action] = splitType(type)
  const body = JSON.stringify({ object_kind: kind, object_attributes: { action, sample: data } })
  const headers = { 'x-gitlab-event': `${kind} Hook`, 'idempotency-key': id }
  if (!secret.startsWith('whsec_')) return { body, headers: { ...headers, 'x-gitlab-token': secret } }
  const time = String(secondsOf(now))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = hmacOf(key, `${id}.${time}.${body}`, 'base64')
  return {
    body,
    headers: {
      ...headers,
      'webhook-id': id,
      'webhook-timestamp': time,
      'webhook-signature': `v1,${signature}`,
    },
  }
}
