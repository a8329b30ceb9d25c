import { createHmac } from 'node:crypto'
import { formType, splitType, type SignSample } from './sample.ts'

/** Twilio: `message.STATUS` or `call.STATUS`, as a form. https://www.twilio.com/docs/usage/security#validating-requests */
export const twilio: SignSample = ({ type, secret, id, data, url = '' }) => {
  const [kind, status = 'received'] = splitType(type)
  const fields: Record<string, string> =
    kind === 'call'
      ? { CallSid: `CA${id}`, CallStatus: status, Sample: JSON.stringify(data) }
      : { Body: JSON.stringify(data), MessageSid: `SM${id}`, MessageStatus: status }
  const text = Object.keys(fields)
    .toSorted()
    .map((name) => name + fields[name])
  const signature = createHmac('sha1', secret)
    .update(url + text.join(''))
    .digest('base64')
  return {
    body: new URLSearchParams(fields).toString(),
    headers: { ...formType, 'i-twilio-idempotency-token': id, 'x-twilio-signature': signature },
  }
}
