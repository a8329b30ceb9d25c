import { hmacOf, secondsOf, type SignSample } from './sample.ts'

/** Paddle Billing. https://developer.paddle.com/webhooks/signature-verification */
export const paddle: SignSample = ({ type, secret, id, now, data }) => {
  const body = JSON.stringify({ event_id: `evt_${id}`, event_type: type, data })
  const time = secondsOf(now)
  return { body, headers: { 'paddle-signature': `ts=${time};h1=${hmacOf(secret, `${time}:${body}`)}` } }
}
