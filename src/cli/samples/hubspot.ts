import { hmacOf, type SignSample } from './sample.ts'

/** HubSpot, version 3: a batch of one event. https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation */
export const hubspot: SignSample = ({ type, secret, id, now, data, url = '' }) => {
  const body = JSON.stringify([
    { eventId: id, subscriptionType: type, occurredAt: now, attemptNumber: 0, sample: data },
  ])
  return {
    body,
    headers: {
      'x-hubspot-request-timestamp': String(now),
      'x-hubspot-signature-v3': hmacOf(secret, `POST${url}${body}${now}`, 'base64'),
    },
  }
}
