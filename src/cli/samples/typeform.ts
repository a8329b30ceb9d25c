import { hmacOf, type SignSample } from './sample.ts'

/** Typeform. https://www.typeform.com/developers/webhooks/secure-your-webhooks/ */
export const typeform: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({ event_id: id, event_type: type, form_response: data })
  return { body, headers: { 'typeform-signature': `sha256=${hmacOf(secret, body, 'base64')}` } }
}
