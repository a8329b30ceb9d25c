import { fromObject, headerOf, identify } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerEmpty } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Scheme, SourceOptions } from './scheme.ts'
import { idBy, withDigest, type UnsignedIdOptions } from './unsigned-id.ts'

/** The ping of a new webhook, unsigned. A response other than 200 disables the webhook. */
const ping = /^webhook_id=\d{1,20}$/

/**
 * WooCommerce: `X-WC-Webhook-Signature`, HMAC-SHA256 over the body in base64. The type is `X-WC-Webhook-Topic`, such as
 * `order.updated`. The id is `X-WC-Webhook-Delivery-ID` with the digest of the body: WooCommerce derives the header from the
 * webhook and the second, so that all events of one second share it. Neither the headers nor a time are signed; `id: 'digest'` uses
 * the body alone. The unsigned ping of a new webhook is answered and not stored.
 * https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/
 * https://github.com/woocommerce/woocommerce/blob/trunk/plugins/woocommerce/includes/class-wc-webhook.php
 */
export function woocommerce(options: SourceOptions & UnsignedIdOptions): Scheme {
  const signed = hmacCheck({ header: 'x-wc-webhook-signature', encoding: 'base64' })
  return createScheme({
    name: 'woocommerce',
    options,
    check(secrets) {
      const check = signed(secrets)
      return (delivery) => {
        const { rawBody, headers } = delivery
        const isPing = headers['x-wc-webhook-signature'] === undefined && rawBody.length <= 31
        return isPing && ping.test(rawBody.toString('latin1')) ? answerEmpty() : check(delivery)
      }
    },
    read: fromObject((body, { rawBody, headers }) => {
      return identify(
        idBy(options, rawBody, () => withDigest(headerOf(headers, 'x-wc-webhook-delivery-id'), rawBody)),
        headerOf(headers, 'x-wc-webhook-topic'),
      )
    }),
  })
}
