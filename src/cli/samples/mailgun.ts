import { hmacOf, secondsOf, type SignSample } from './sample.ts'

/** Mailgun signs within the body. https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks */
export const mailgun: SignSample = ({ type, secret, id, now, data }) => {
  const timestamp = String(secondsOf(now))
  const signature = { timestamp, token: id, signature: hmacOf(secret, timestamp + id) }
  return { body: JSON.stringify({ signature, 'event-data': { event: type, id, sample: data } }), headers: {} }
}
