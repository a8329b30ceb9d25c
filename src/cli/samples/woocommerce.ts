import { hmacOf, type SignSample } from './sample.ts'

/** WooCommerce. https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/ */
export const woocommerce: SignSample = ({ type, secret, id, data }) => {
  const body = JSON.stringify(data)
  return {
    body,
    headers: {
      'x-wc-webhook-topic': type,
      'x-wc-webhook-delivery-id': id,
      'x-wc-webhook-signature': hmacOf(secret, body, 'base64'),
    },
  }
}
