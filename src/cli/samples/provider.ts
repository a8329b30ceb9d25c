import { createHmac } from 'node:crypto'
import type { SignSample } from './sample.ts'

/** The specified sender: `x-signature`, hex HMAC-SHA256 over the body. */
export const provider: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({ id, type, data })
  return { body, headers: { 'x-signature': createHmac('sha256', secret).update(body).digest('hex') } }
}
