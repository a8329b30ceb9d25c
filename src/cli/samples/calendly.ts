import { hmacOf, secondsOf, type SignSample } from './sample.ts'

/** Calendly. https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures */
export const calendly: SignSample = ({ type, secret, id, now, data }) => {
  const created = new Date(now).toISOString()
  const body = JSON.stringify({ event: type, created_at: created, payload: { uri: id, sample: data } })
  const time = secondsOf(now)
  return {
    body,
    headers: { 'calendly-webhook-signature': `t=${time},v1=${hmacOf(secret, `${time}.${body}`)}` },
  }
}
