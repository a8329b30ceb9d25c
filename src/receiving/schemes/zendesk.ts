import { bodyDigest, form, headerOf, identify, json, readObject } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, TimedOptions } from './scheme.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/**
 * Zendesk: `X-Zendesk-Webhook-Signature`, HMAC-SHA256 in base64 over `X-Zendesk-Webhook-Signature-Timestamp` (ISO 8601) and
 * the body. Events have `id` and `type` in their JSON, such as `zen:event-type:ticket.created`. The author of a trigger or an
 * automation defines its body (JSON, XML or a form): its type is `trigger` unless the JSON has one, and its id is
 * `X-Zendesk-Webhook-Invocation-Id`, which is not signed; `id: 'digest'` uses the signed time and the body instead. Zendesk does not document whether retries have a new time and signature: raise
 * `tolerance` if they are refused.
 * https://developer.zendesk.com/documentation/webhooks/verifying/
 */
export function zendesk(options: TimedOptions & UnsignedIdOptions): Scheme {
  return createScheme({
    name: 'zendesk',
    options,
    mediaTypes: [json, form, 'application/xml', 'text/xml', 'text/plain'],
    check: hmacCheck({
      header: 'x-zendesk-webhook-signature',
      encoding: 'base64',
      timestampHeader: 'x-zendesk-webhook-signature-timestamp',
      timestampUnit: 'iso',
      template: '{timestamp}{body}',
      tolerance: options.tolerance,
    }),
    read({ rawBody, headers }, { signedAt }) {
      const body = readObject(rawBody)
      const { id, type }: { id?: unknown; type?: unknown } = 'object' in body ? body.object : {}
      const isEvent = typeof id === 'string' && typeof type === 'string'
      // Two runs of a trigger can have equal bodies.
      const signed = Buffer.concat([Buffer.from(`${signedAt}:`), rawBody])
      const invocation = headerOf(headers, 'x-zendesk-webhook-invocation-id') ?? bodyDigest(signed)
      const runId = idBy(options, signed, () => invocation)
      return identify(isEvent ? id : runId, typeof type === 'string' && type !== '' ? type : 'trigger')
    },
  })
}
