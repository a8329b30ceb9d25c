import { equalBytes } from '../../crypto/secrets.ts'
import { newId } from '../../crypto/ids.ts'
import { bodyDigest, fromObject, identify, isObject, queryParameter, readUnverifiedObject } from './body.ts'
import { answerText, type Check, refuse, type SourceOptions } from './scheme.ts'
import { preset } from './preset.ts'
import { repeatsCredential } from './credentials.ts'

/**
 * Change notifications of Microsoft Graph, with the subscription's `clientState` as the secret. Graph signs nothing; it
 * repeats the secret in every notification. Its `validationToken`, which it sends unsigned before a subscription exists, is
 * answered. A request is a batch: it is stored as one event of type `notifications`, or `lifecycle` if it is about the
 * subscription, and the handler iterates over `value`. Most notifications have neither an id nor a time, so two changes can have equal
 * bodies. Such a request, also a retry, is a new event; the handler asks Graph for the changes. Where a notification has its `id` or
 * the resource's `@odata.etag`, the id is the digest of the body. The tokens in
 * `validationTokens`, which come with resource data, are not checked.
 * https://learn.microsoft.com/graph/change-notifications-delivery-webhooks
 */
export const microsoftGraph = preset<SourceOptions>('microsoft-graph', {
  caution: repeatsCredential,
  check: graphCheck,
  read: fromObject((body, { rawBody, now }) => {
    const value = body['value'] as readonly Record<string, unknown>[]
    const isLifecycle = value.every((notification) => notification['lifecycleEvent'] !== undefined)
    const id = value.some(isDistinct) ? bodyDigest(rawBody) : newId(now)
    return identify(id, isLifecycle ? 'lifecycle' : 'notifications')
  }),
})

/** Whether no later notification of another change has the same bytes. */
function isDistinct({ id, resourceData }: Record<string, unknown>): boolean {
  return typeof id === 'string' || (isObject(resourceData) && typeof resourceData['@odata.etag'] === 'string')
}

function graphCheck(secrets: readonly string[]): Check {
  return ({ rawBody, url = '' }) => {
    const token = queryParameter(url, 'validationToken')
    if (token !== undefined) return answerText(token)
    const body = readUnverifiedObject(rawBody)
    if ('rejected' in body) return body
    const { value } = body.object
    if (!Array.isArray(value) || value.length === 0)
      return refuse('there is no notification', 'signature-missing')
    const secret = secrets.find((one) => value.every((notification) => hasState(notification, one)))
    return secret === undefined ? refuse('clientState does not match') : { secret }
  }
}

function hasState(notification: unknown, secret: string): boolean {
  const state = isObject(notification) ? notification['clientState'] : undefined
  return typeof state === 'string' && equalBytes(Buffer.from(state), Buffer.from(secret))
}
