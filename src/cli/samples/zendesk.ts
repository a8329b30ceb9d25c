import { hmacOf, type SignSample } from './sample.ts'

/** Zendesk. https://developer.zendesk.com/documentation/webhooks/verifying/ */
export const zendesk: SignSample = ({ type, secret, id, now, data }) => {
  const body = JSON.stringify({ id, type, detail: data })
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`
  return {
    body,
    headers: {
      'x-zendesk-webhook-invocation-id': id,
      'x-zendesk-webhook-signature-timestamp': time,
      'x-zendesk-webhook-signature': hmacOf(secret, time + body, 'base64'),
    },
  }
}
