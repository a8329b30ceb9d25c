import { form, identify, json, kindAndAction, kindOf, readForm, readObject } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body. The id is `X-GitHub-Delivery`, which redeliveries
 * repeat. GitHub signs neither the id nor a time; `id: 'digest'` uses the body instead. The type is the event header, with
 * `.action` if the body has one: `push`, `issues.opened`. In webhooks of content type form, `payload` has the JSON. The signed
 * bytes tell the two apart: `Content-Type` is not signed.
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
 */
export function github(options: SourceOptions & UnsignedIdOptions): Scheme {
  return createScheme({
    name: 'github',
    options,
    mediaTypes: [json, form],
    typesHaveActions: true,
    check: hmacCheck({ header: 'x-hub-signature-256', prefix: 'sha256=' }),
    read({ rawBody, headers }) {
      const sent = kindOf(rawBody) === 'form' ? readForm(rawBody) : undefined
      if (sent && 'rejected' in sent) return sent
      const body = readObject(sent ? Buffer.from(sent.field('payload') ?? '') : rawBody)
      if ('rejected' in body) return body
      const type = kindAndAction(headers['x-github-event'], body.object['action'])
      return identify(
        idBy(options, rawBody, () => headers['x-github-delivery']),
        type,
      )
    },
  })
}
