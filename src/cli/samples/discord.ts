import { createPrivateKey, sign } from 'node:crypto'
import { secondsOf, type SignSample } from './sample.ts'

/** What stands before the 32 bytes of an ed25519 private key in DER (RFC 8410, section 7). */
const derPrefix = '302e020100300506032b657004220420'

/**
 * Discord's webhook events; the secret is the 32 bytes of a private key in hex, whose public half the receiver has.
 * https://docs.discord.com/developers/events/webhook-events
 */
export const discord: SignSample = ({ type, secret, id, now, data }) => {
  const event = { type, timestamp: new Date(now).toISOString(), data }
  const body = JSON.stringify({ version: 1, application_id: id, type: 1, event })
  const time = String(secondsOf(now))
  const key = createPrivateKey({ key: Buffer.from(derPrefix + secret, 'hex'), format: 'der', type: 'pkcs8' })
  return {
    body,
    headers: {
      'x-signature-timestamp': time,
      'x-signature-ed25519': sign(null, Buffer.from(time + body), key).toString('hex'),
    },
  }
}
