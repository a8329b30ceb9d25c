import { bodyDigest, headerOf, identify, readObject } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme, type Scheme, type SourceOptions } from './scheme.ts'

/**
 * Shopify: `X-Shopify-Hmac-SHA256`, HMAC-SHA256 over the body in base64, with the app's client secret. The type is
 * `X-Shopify-Topic`, as Shopify writes it: `orders/create`. The id is `X-Shopify-Event-Id`, by which Shopify says to know
 * duplicates, with the topic, since one action may be told under several; where it is missing, `X-Shopify-Webhook-Id`.
 * Shopify signs no time and none of these headers.
 * https://shopify.dev/docs/apps/build/webhooks/subscribe/https
 * https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates
 */
export function shopify(options: SourceOptions): Scheme {
  return createScheme({
    name: 'shopify',
    options,
    check: hmacCheck({ header: 'x-shopify-hmac-sha256', encoding: 'base64' }),
    read({ rawBody, headers }) {
      const body = readObject(rawBody)
      if ('rejected' in body) return body
      const topic = headerOf(headers, 'x-shopify-topic')
      const event = headerOf(headers, 'x-shopify-event-id')
      const id =
        event === undefined
          ? (headerOf(headers, 'x-shopify-webhook-id') ??
            bodyDigest(`${topic}\n${rawBody.toString('latin1')}`))
          : `${event}:${topic}`
      return identify(id, topic)
    },
  })
}
