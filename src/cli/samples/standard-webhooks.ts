import { createHmac } from 'node:crypto'
import type { SignSample } from './sample.ts'

/** Standard Webhooks, v1. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
export const standardWebhooks: SignSample = ({ type, secret, id, now, data }) => {
  const seconds = Math.floor(now / 1000)
  const body = JSON.stringify({ type, timestamp: new Date(now).toISOString(), data })
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`msg_${id}.${seconds}.${body}`).digest('base64')
  return {
    body,
    headers: {
      'webhook-id': `msg_${id}`,
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signature}`,
    },
  }
}
