import { createHmac } from 'node:crypto'
import type { SignSample } from './sample.ts'

/** Stripe: `Stripe-Signature: t=…,v1=…`. https://docs.stripe.com/webhooks#verify-manually */
export const stripe: SignSample = ({ type, secret, id, now, data }) => {
  const seconds = Math.floor(now / 1000)
  const body = JSON.stringify({
    id: `evt_${id.replaceAll('-', '')}`,
    object: 'event',
    type,
    created: seconds,
    livemode: false,
    data: { object: data },
  })
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return { body, headers: { 'stripe-signature': `t=${seconds},v1=${digest}` } }
}
