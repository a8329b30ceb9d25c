import { equalBytes } from '../../crypto/constant-time.ts'
import { bodyDigest, fromObject, identify, isObject, readObject } from './body.ts'
import { answerText, createScheme, refuse, type Check, type Scheme, type SourceOptions } from './scheme.ts'

/**
 * Microsoft Graph's change notifications, with the subscription's `clientState` as the secret: Graph signs nothing, and
 * repeats the secret in every notification. Its `validationToken` is answered, which it sends before there is a
 * subscription, unsigned. A request is a batch: it is one event of type `notifications`, or `lifecycle` when it tells of the
 * subscription itself, whose handler goes through `value`. Graph sends no id, and the body's digest stands for it. The tokens
 * in `validationTokens`, which come with resource data, are not checked.
 * https://learn.microsoft.com/graph/change-notifications-delivery-webhooks
 */
export function microsoftGraph(options: SourceOptions): Scheme {
  return createScheme({
    name: 'microsoft-graph',
    options,
    check: graphCheck,
    read: fromObject((body, { rawBody }) => {
      const value = body['value'] as readonly Record<string, unknown>[]
      const isLifecycle = value.every((notification) => notification['lifecycleEvent'] !== undefined)
      return identify(bodyDigest(rawBody), isLifecycle ? 'lifecycle' : 'notifications')
    }),
  })
}

function graphCheck(secrets: readonly string[]): Check {
  return ({ rawBody, url = '' }) => {
    const at = url.indexOf('?')
    const token = at === -1 ? null : new URLSearchParams(url.slice(at)).get('validationToken')
    if (token !== null) return answerText(token)
    const body = readObject(rawBody)
    const value = 'object' in body ? body.object['value'] : undefined
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
