import { hmacOf, secondsOf, splitType, type SignSample } from './sample.ts'

/** Meta: `OBJECT.FIELD`. https://developers.facebook.com/docs/graph-api/webhooks/getting-started */
export const meta: SignSample = ({ type, secret, id, now, data }) => {
  const [object, field] = splitType(type)
  const changes = field === undefined ? [] : [{ field, value: data }]
  const body = JSON.stringify({ object, entry: [{ id, time: secondsOf(now), changes }] })
  return { body, headers: { 'x-hub-signature-256': `sha256=${hmacOf(secret, body)}` } }
}
