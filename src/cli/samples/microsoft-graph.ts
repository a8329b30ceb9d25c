import type { SignSample } from './sample.ts'

/** Microsoft Graph repeats the secret. https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
export const microsoftGraph: SignSample = ({ type, secret, id, data }) => {
  const notification = { subscriptionId: id, clientState: secret, changeType: type, resourceData: data }
  return { body: JSON.stringify({ value: [notification] }), headers: {} }
}
