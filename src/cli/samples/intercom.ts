import { createHmac } from 'node:crypto'
import type { SignSample } from './sample.ts'

/** Intercom. https://developers.intercom.com/docs/webhooks/setting-up-webhooks */
export const intercom: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({
    type: 'notification_event',
    id: `notif_${id}`,
    topic: type,
    data: { item: data },
  })
  const digest = createHmac('sha1', secret).update(body).digest('hex')
  return { body, headers: { 'x-hub-signature': `sha1=${digest}` } }
}
