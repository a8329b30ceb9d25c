import { hmacOf, secondsOf, type SignSample } from './sample.ts'

/** Zoom. https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events */
export const zoom: SignSample = ({ type, secret, id, now, data }) => {
  const body = JSON.stringify({ event: type, event_ts: now, payload: { object: { uuid: id, sample: data } } })
  const time = String(secondsOf(now))
  return {
    body,
    headers: {
      'x-zm-request-timestamp': time,
      'x-zm-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
    },
  }
}
