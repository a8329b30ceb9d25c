import { hmacOf, splitType, type SignSample } from './sample.ts'

/** Linear. https://linear.app/developers/webhooks */
export const linear: SignSample = ({ type, secret, id, now, data }) => {
  const [kind, action] = splitType(type)
  const body = JSON.stringify({ action, type: kind, data, webhookTimestamp: now })
  return {
    body,
    headers: { 'linear-delivery': id, 'linear-event': kind, 'linear-signature': hmacOf(secret, body) },
  }
}
