import { hmacOf, type SignSample } from './sample.ts'

/** X. https://docs.x.com/x-api/webhooks/quickstart */
export const x: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({ data: { event_type: type, event_uuid: id, payload: data } })
  return { body, headers: { 'x-twitter-webhooks-signature': `sha256=${hmacOf(secret, body, 'base64')}` } }
}
