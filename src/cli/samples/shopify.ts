import { hmacOf, type SignSample } from './sample.ts'

/** Shopify. https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
export const shopify: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify(data)
  return {
    body,
    headers: {
      'x-shopify-topic': type,
      'x-shopify-shop-domain': 'sample.myshopify.com',
      'x-shopify-event-id': id,
      'x-shopify-webhook-id': id,
      'x-shopify-hmac-sha256': hmacOf(secret, body, 'base64'),
    },
  }
}
