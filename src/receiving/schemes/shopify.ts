import type { IncomingHttpHeaders } from 'node:http'
import { bodyDigest, fromObject, headerOf, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'
import { idBy, type UnsignedIdOptions } from './unsigned-id.ts'

/** Only Shopify's Events have this header. */
const eventsHeader = 'shopify-hmac-sha256'

/**
 * Shopify: `X-Shopify-Hmac-SHA256`, HMAC-SHA256 over the body in base64, with the app's client secret. The type is
 * `X-Shopify-Topic`, such as `orders/create`. The id is `X-Shopify-Webhook-Id`, which is that of the delivery and which retries repeat.
 * `X-Shopify-Event-Id` is that of the merchant's action, which can have several webhooks, also of one topic.
 *
 * Shopify's newer Events have `Shopify-Hmac-Sha256`, computed in the same way. Their type is `Shopify-Topic` with
 * `Shopify-Action`, such as `Product/update`; their id is `Shopify-Webhook-Id`.
 *
 * Shopify signs neither a time nor these headers: `id: 'digest'` uses the body instead, regardless of the topic.
 * https://shopify.dev/docs/apps/build/webhooks/subscribe/https
 * https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates
 * https://shopify.dev/docs/apps/build/events/verify-deliveries
 */
export function shopify(options: SourceOptions & UnsignedIdOptions): Scheme {
  const ofWebhooks = hmacCheck({ header: 'x-shopify-hmac-sha256', encoding: 'base64' })
  const ofEvents = hmacCheck({ header: eventsHeader, encoding: 'base64' })
  return createScheme({
    name: 'shopify',
    options,
    check(secrets) {
      const [checkWebhook, checkEvent] = [ofWebhooks(secrets), ofEvents(secrets)]
      return (delivery) => (eventsHeader in delivery.headers ? checkEvent(delivery) : checkWebhook(delivery))
    },
    read: fromObject((body, { rawBody, headers }) => {
      const { id, type } = eventsHeader in headers ? ofEvent(headers) : ofWebhook(headers)
      const sendersId = (): string => id ?? bodyDigest(`${type}\n${rawBody.toString('latin1')}`)
      return identify(idBy(options, rawBody, sendersId), type)
    }),
  })
}

interface Named {
  id: string | undefined
  type: string | undefined
}

function ofWebhook(headers: IncomingHttpHeaders): Named {
  return { id: headerOf(headers, 'x-shopify-webhook-id'), type: headerOf(headers, 'x-shopify-topic') }
}

function ofEvent(headers: IncomingHttpHeaders): Named {
  const topic = headerOf(headers, 'shopify-topic')
  const action = headerOf(headers, 'shopify-action')
  return {
    id: headerOf(headers, 'shopify-webhook-id'),
    type: topic === undefined || action === undefined ? topic : `${topic}/${action}`,
  }
}
