import { createHmac } from 'node:crypto'
import { fieldOf, formType, hmacOf, secondsOf, splitType, type SignSample } from './sample.ts'

/** Senders that sign the body, or the address and the body, without a time. */
export const bodySigners = {
  /** The specified sender: `x-signature`, hex HMAC-SHA256 over the body. */
  provider: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify({ id, type, data })
    return { body, headers: { 'x-signature': hmacOf(secret, body) } }
  },

  /** Bitbucket. https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/ */
  bitbucket: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify({ sample: data })
    return {
      body,
      headers: {
        'x-event-key': type,
        'x-request-uuid': id,
        'x-hub-signature': `sha256=${hmacOf(secret, body)}`,
      },
    }
  },

  /** Dropbox: the type is the first field. https://www.dropbox.com/developers/reference/webhooks */
  dropbox: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify({ [type]: { accounts: [`dbid:${id}`], sample: data } })
    return { body, headers: { 'x-dropbox-signature': hmacOf(secret, body) } }
  },

  /** GitHub: event header and `action`. https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers */
  github: ({ type, secret, id, data, raw }) => {
    const [event = type, action] = type.split('.')
    const body = raw ?? JSON.stringify({ ...(action !== undefined && { action }), sample: data })
    return {
      body,
      headers: {
        'x-github-event': event,
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${hmacOf(secret, body)}`,
      },
    }
  },

  /** Intercom. https://developers.intercom.com/docs/webhooks/setting-up-webhooks */
  intercom: ({ type, secret, id, data, raw }) => {
    const body =
      raw ??
      JSON.stringify({
        type: 'notification_event',
        id: `notif_${id}`,
        topic: type,
        data: { item: data },
      })
    const digest = createHmac('sha1', secret).update(body).digest('hex')
    return { body, headers: { 'x-hub-signature': `sha1=${digest}` } }
  },

  /** Linear. https://linear.app/developers/webhooks */
  linear: ({ type, secret, id, now, data, raw }) => {
    const [kind, action] = splitType(type)
    const body =
      raw?.replace(/("webhookTimestamp":\s*)\d+/, `$1${now}`) ??
      JSON.stringify({ action, type: kind, data, webhookTimestamp: now })
    return {
      body,
      headers: { 'linear-delivery': id, 'linear-event': kind, 'linear-signature': hmacOf(secret, body) },
    }
  },

  /** Meta: `OBJECT.FIELD`. https://developers.facebook.com/docs/graph-api/webhooks/getting-started */
  meta: ({ type, secret, id, now, data, raw }) => {
    const [object, field] = splitType(type)
    const changes = field === undefined ? [] : [{ field, value: data }]
    const body = raw ?? JSON.stringify({ object, entry: [{ id, time: secondsOf(now), changes }] })
    return { body, headers: { 'x-hub-signature-256': `sha256=${hmacOf(secret, body)}` } }
  },

  /** Microsoft Graph repeats the secret. https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
  'microsoft-graph': ({ type, secret, id, data, raw }) => {
    const notification = { subscriptionId: id, clientState: secret, changeType: type, resourceData: data }
    const state = `"clientState":${JSON.stringify(secret)}`
    const body = raw?.replaceAll('"clientState":"[redacted]"', () => state)
    return { body: body ?? JSON.stringify({ value: [notification] }), headers: {} }
  },

  /** Shopify. https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify(data)
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
  },

  /** Square signs the address too. https://developer.squareup.com/docs/webhooks/step3validate */
  square: ({ type, secret, id, data, url = '', raw }) => {
    const body = raw ?? JSON.stringify({ merchant_id: 'SAMPLE', type, event_id: id, data: { object: data } })
    return { body, headers: { 'x-square-hmacsha256-signature': hmacOf(secret, url + body, 'base64') } }
  },

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
  typeform: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify({ event_id: id, event_type: type, form_response: data })
    return { body, headers: { 'typeform-signature': `sha256=${hmacOf(secret, body, 'base64')}` } }
  },

  /** WooCommerce. https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/ */
  woocommerce: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify(data)
    return {
      body,
      headers: {
        'x-wc-webhook-topic': type,
        'x-wc-webhook-delivery-id': id,
        'x-wc-webhook-signature': hmacOf(secret, body, 'base64'),
      },
    }
  },

  /** X. https://docs.x.com/x-api/webhooks/quickstart */
  x: ({ type, secret, id, data, raw }) => {
    const body = raw ?? JSON.stringify({ data: { event_type: type, event_uuid: id, payload: data } })
    return { body, headers: { 'x-twitter-webhooks-signature': `sha256=${hmacOf(secret, body, 'base64')}` } }
  },
} satisfies Record<string, SignSample>
