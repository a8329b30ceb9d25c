import { hmacOf, type SignSample } from './sample.ts'

/** Bitbucket. https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/ */
export const bitbucket: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify({ sample: data })
  return {
    body,
    headers: {
      'x-event-key': type,
      'x-request-uuid': id,
      'x-hub-signature': `sha256=${hmacOf(secret, body)}`,
    },
  }
}
