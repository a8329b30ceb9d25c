import { hmacOf, type SignSample } from './sample.ts'

/** Square signs the address too. https://developer.squareup.com/docs/webhooks/step3validate */
export const square: SignSample = ({ type, secret, id, data, url = '' }) => {
  const body = JSON.stringify({ merchant_id: 'SAMPLE', type, event_id: id, data: { object: data } })
  return { body, headers: { 'x-square-hmacsha256-signature': hmacOf(secret, url + body, 'base64') } }
}
