import { createPrivateKey, sign } from 'node:crypto'
import { secondsOf, type SignSample } from './sample.ts'

/**
 * SendGrid: a batch of one event. The secret is a P-256 private key (PKCS #8 in base64), whose public half the receiver has.
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 */
export const sendgrid: SignSample = ({ type, secret, id, now, data }) => {
  const body = JSON.stringify([{ event: type, sg_event_id: id, timestamp: secondsOf(now), sample: data }])
  const time = String(secondsOf(now))
  const key = createPrivateKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'pkcs8' })
  return {
    body,
    headers: {
      'x-twilio-email-event-webhook-timestamp': time,
      'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(time + body), key).toString(
        'base64',
      ),
    },
  }
}
