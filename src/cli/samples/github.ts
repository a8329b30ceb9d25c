import { createHmac } from 'node:crypto'
import type { SignSample } from './sample.ts'

/** GitHub: event header and `action`. https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers */
export const github: SignSample = ({ type, secret, id, data }) => {
  const [event = type, action] = type.split('.')
  const body = JSON.stringify({ ...(action !== undefined && { action }), sample: data })
  return {
    body,
    headers: {
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  }
}
