import { createHmac } from 'node:crypto'
import { fieldOf, formType, hmacOf, jsonSample, secondsOf, splitType, type SignSample } from './sample.ts'

/** Senders that sign the body, or the address and the body, without a time. */
export const bodySigners = {
  /** The specified sender: `x-signature`, hex HMAC-SHA256 over the body. */
  provider: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { id, type, data }, (body) => ({ 'x-signature': hmacOf(secret, body) })),

  /** Bitbucket. https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/ */
  bitbucket: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { sample: data }, (body) => ({
      'x-event-key': type,
      'x-request-uuid': id,
      'x-hub-signature': `sha256=${hmacOf(secret, body)}`,
    })),

  /** Dropbox: the type is the first field. https://www.dropbox.com/developers/reference/webhooks */
  dropbox: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { [type]: { accounts: [`dbid:${id}`], sample: data } }, (body) => ({
      'x-dropbox-signature': hmacOf(secret, body),
    })),

  /** GitHub: event header and `action`. https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers */
  github: ({ type, secret, id, data, raw }) => {
    const [event = type, action] = type.split('.')
    return jsonSample(raw, { ...(action !== undefined && { action }), sample: data }, (body) => ({
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmacOf(secret, body)}`,
    }))
  },

  /** Intercom. https://developers.intercom.com/docs/webhooks/setting-up-webhooks */
  intercom: ({ type, secret, id, data, raw }) => {
    const sample = { type: 'notification_event', id: `notif_${id}`, topic: type, data: { item: data } }
    return jsonSample(raw, sample, (body) => ({
      'x-hub-signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
    }))
  },

  /** Linear. https://linear.app/developers/webhooks */
  linear: ({ type, secret, id, now, data, raw }) => {
    const [kind, action] = splitType(type)
    const renewed = raw?.replace(/("webhookTimestamp":\s*)\d+/, `$1${now}`)
    return jsonSample(renewed, { action, type: kind, data, webhookTimestamp: now }, (body) => ({
      'linear-delivery': id,
      'linear-event': kind,
      'linear-signature': hmacOf(secret, body),
    }))
  },

  /** Meta: `OBJECT.FIELD`. https://developers.facebook.com/docs/graph-api/webhooks/getting-started */
  meta: ({ type, secret, id, now, data, raw }) => {
    const [object, field] = splitType(type)
    const changes = field === undefined ? [] : [{ field, value: data }]
    return jsonSample(raw, { object, entry: [{ id, time: secondsOf(now), changes }] }, (body) => ({
      'x-hub-signature-256': `sha256=${hmacOf(secret, body)}`,
    }))
  },

  /** Microsoft Graph repeats the secret. https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
  'microsoft-graph': ({ type, secret, id, data, raw }) => {
    const notification = { subscriptionId: id, clientState: secret, changeType: type, resourceData: data }
    const state = `"clientState":${JSON.stringify(secret)}`
    const body = raw?.replaceAll('"clientState":"[redacted]"', () => state)
    return { body: body ?? JSON.stringify({ value: [notification] }), headers: {} }
  },

  /** Shopify. https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, data, (body) => ({
      'x-shopify-topic': type,
      'x-shopify-shop-domain': 'sample.myshopify.com',
      'x-shopify-webhook-id': id,
      'x-shopify-hmac-sha256': hmacOf(secret, body, 'base64'),
    })),

  /** Square signs the address too. https://developer.squareup.com/docs/webhooks/step3validate */
  square: ({ type, secret, id, data, url = '', raw }) =>
    jsonSample(raw, { merchant_id: 'SAMPLE', type, event_id: id, data: { object: data } }, (body) => ({
      'x-square-hmacsha256-signature': hmacOf(secret, url + body, 'base64'),
    })),

  /** Twilio: `message.STATUS` or `call.STATUS`, as a form. https://www.twilio.com/docs/usage/security#validating-requests */
  twilio: ({ type, secret, id, data, url = '', raw }) => {
    const [kind, status = 'received'] = splitType(type)
    const sample: Record<string, string> =
      kind === 'call'
        ? { CallSid: `CA${id}`, CallStatus: status, Sample: fieldOf(data) }
        : { Body: fieldOf(data), MessageSid: `SM${id}`, MessageStatus: status }
    const fields = new URLSearchParams(raw ?? sample)
    const text = [...new Set(fields.keys())].toSorted().map((name) => name + fields.getAll(name).join(name))
    const signature = createHmac('sha1', secret)
      .update(url + text.join(''))
      .digest('base64')
    return {
      body: raw ?? fields.toString(),
      headers: { ...formType, 'i-twilio-idempotency-token': id, 'x-twilio-signature': signature },
    }
  },

  /** Typeform. https://www.typeform.com/developers/webhooks/secure-your-webhooks/ */
  typeform: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { event_id: id, event_type: type, form_response: data }, (body) => ({
      'typeform-signature': `sha256=${hmacOf(secret, body, 'base64')}`,
    })),

  /** WooCommerce. https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/ */
  woocommerce: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, data, (body) => ({
      'x-wc-webhook-topic': type,
      'x-wc-webhook-delivery-id': id,
      'x-wc-webhook-signature': hmacOf(secret, body, 'base64'),
    })),

  /** X. https://docs.x.com/x-api/webhooks/quickstart */
  x: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { data: { event_type: type, event_uuid: id, payload: data } }, (body) => ({
      'x-twitter-webhooks-signature': `sha256=${hmacOf(secret, body, 'base64')}`,
    })),
} satisfies Record<string, SignSample>
