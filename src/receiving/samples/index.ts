import { createHmac, createPrivateKey, sign } from 'node:crypto'
import { isoTime } from '../../runtime/iso-time.ts'

/** A signed webhook as its sender would make it. */
export interface SignedSample {
  /** With a content type only where it is not JSON's. */
  headers: Record<string, string>
  body: string
}

export interface SampleRequest {
  type: string
  /** What the receiver verifies by; of senders with a key pair, the private half. */
  secret: string
  id: string
  /** Milliseconds since 1970. */
  now: number
  /** The event's own fields, beside id and type. */
  data: unknown
  /** The address that is sent to: some senders sign it. */
  url?: string
  /** The body to sign instead of a sample: that of an event that the service has shown, with its times and secrets to be renewed. */
  raw?: string | undefined
}

export type SignSample = (request: SampleRequest) => SignedSample

/** A body, else the sample as JSON, with the headers that its sender makes for it. */
function jsonSample(
  raw: string | undefined,
  sample: unknown,
  headersOf: (body: string) => Record<string, string>,
): SignedSample {
  const body = raw ?? JSON.stringify(sample)
  return { body, headers: headersOf(body) }
}

function hmacOf(secret: string | Uint8Array, text: string, encoding: 'hex' | 'base64' = 'hex'): string {
  return createHmac('sha256', secret).update(text).digest(encoding)
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }

/** Data as the field of a form: a text as it is, all else as JSON. */
function fieldOf(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data)
}

/** `issues.opened` as its kind and its action. */
function splitType(type: string): readonly [kind: string, action: string | undefined] {
  const at = type.indexOf('.')
  return at === -1 ? [type, undefined] : [type.slice(0, at), type.slice(at + 1)]
}

function secondsOf(now: number): number {
  return Math.floor(now / 1000)
}

/** An id as a sender writes it: `evt_…`. */
function withPrefix(prefix: string, id: string): string {
  return id.startsWith(prefix) ? id : prefix + id
}

/** The headers of Standard Webhooks, v1. */
function standardHeaders(secret: string, id: string, now: number, body: string): Record<string, string> {
  const time = String(secondsOf(now))
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = hmacOf(key, `${id}.${time}.${body}`, 'base64')
  return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` }
}

const privateKey = (key: Buffer) => createPrivateKey({ key, format: 'der', type: 'pkcs8' })

type AdyenItem = Record<string, unknown> & { amount?: { value?: number; currency?: string } }

/** What stands before the 32 bytes of an ed25519 private key in DER (RFC 8410, section 7). */
const derPrefix = '302e020100300506032b657004220420'

/** How each sender signs that `postern send` can play, by the name that `--source` takes. Its preset links to its documentation. */
export const samples: Readonly<Record<string, SignSample>> = {
  /** The specified sender: `x-signature`, hex HMAC-SHA256 over the body. */
  provider: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { id, type, data }, (body) => ({ 'x-signature': hmacOf(secret, body) })),

  /** Adyen signs eight fields of each item. */
  adyen: ({ type, secret, id, data, raw }) => {
    const sample = {
      amount: { value: 1000, currency: 'EUR' },
      eventCode: type,
      merchantAccountCode: 'SAMPLE',
      merchantReference: 'sample',
      pspReference: id,
      success: 'true',
      sample: data,
    }
    const body = JSON.parse(
      raw ?? JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: sample }] }),
    ) as { notificationItems: { NotificationRequestItem: AdyenItem }[] }
    for (const { NotificationRequestItem: item } of body.notificationItems) {
      const { pspReference, originalReference, merchantAccountCode, merchantReference } = item
      const { amount, eventCode, success, additionalData } = item
      const references = [pspReference, originalReference, merchantAccountCode, merchantReference]
      const text = [...references, amount?.value, amount?.currency, eventCode, success].join(':')
      const hmacSignature = hmacOf(Buffer.from(secret, 'hex'), text, 'base64')
      item.additionalData = { ...(additionalData as object), hmacSignature }
    }
    return { body: JSON.stringify(body), headers: {} }
  },

  /** Auth0's log streams repeat the token. https://auth0.com/docs/customize/log-streams/custom-log-streams */
  auth0: ({ type, secret, id, now, data, raw }) =>
    jsonSample(raw, [{ log_id: id, data: { date: isoTime(now), type, details: data } }], () => ({
      authorization: secret,
    })),

  /** CloudEvents, in the structured mode. https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md */
  'cloud-events': ({ type, secret, id, now, data, raw }) =>
    jsonSample(raw, { specversion: '1.0', id, source: '/sample', type, time: isoTime(now), data }, () => ({
      'content-type': 'application/cloudevents+json',
      authorization: `Bearer ${secret}`,
    })),

  /** Azure Event Grid, in its own schema. https://learn.microsoft.com/azure/event-grid/event-schema */
  'event-grid': ({ type, secret, id, now, data, raw }) => {
    const sample = { id, topic: '/sample', subject: 'sample', eventType: type, eventTime: isoTime(now), data }
    return jsonSample(raw, [{ ...sample, dataVersion: '1.0' }], () => ({ authorization: `Bearer ${secret}` }))
  },

  bitbucket: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { sample: data }, (body) => ({
      'x-event-key': type,
      'x-request-uuid': id,
      'x-hub-signature': `sha256=${hmacOf(secret, body)}`,
    })),

  docusign: ({ type, secret, id, now, data, raw }) => {
    const sample = {
      event: type,
      retryCount: 0,
      generatedDateTime: isoTime(now),
      data: { envelopeId: id, sample: data },
    }
    return jsonSample(raw, sample, (body) => ({ 'x-docusign-signature-1': hmacOf(secret, body, 'base64') }))
  },

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

  intercom: ({ type, secret, id, data, raw }) => {
    const sample = { type: 'notification_event', id: `notif_${id}`, topic: type, data: { item: data } }
    return jsonSample(raw, sample, (body) => ({
      'x-hub-signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
    }))
  },

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

  /** Microsoft Graph repeats the secret. */
  'microsoft-graph': ({ type, secret, id, data, raw }) => {
    const notification = { subscriptionId: id, clientState: secret, changeType: type, resourceData: data }
    const state = `"clientState":${JSON.stringify(secret)}`
    const renewed = raw?.replaceAll('"clientState":"[redacted]"', () => state)
    return jsonSample(renewed, { value: [notification] }, () => ({}))
  },

  notion: ({ type, secret, id, now, data, raw }) =>
    jsonSample(raw, { id, timestamp: isoTime(now), type, attempt_number: 1, data }, (body) => ({
      'x-notion-signature': `sha256=${hmacOf(secret, body)}`,
    })),

  pagerduty: ({ type, secret, id, now, data, raw }) =>
    jsonSample(raw, { event: { id, event_type: type, occurred_at: isoTime(now), data } }, (body) => ({
      'x-pagerduty-signature': `v1=${hmacOf(secret, body)}`,
    })),

  sentry: ({ type, secret, id, data, raw }) => {
    const [resource, action] = splitType(type)
    return jsonSample(raw, { action, data }, (body) => ({
      'request-id': id,
      'sentry-hook-resource': resource,
      'sentry-hook-signature': hmacOf(secret, body),
    }))
  },

  shopify: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, data, (body) => ({
      'x-shopify-topic': type,
      'x-shopify-shop-domain': 'sample.myshopify.com',
      'x-shopify-webhook-id': id,
      'x-shopify-hmac-sha256': hmacOf(secret, body, 'base64'),
    })),

  /** Square signs the address, too. */
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

  typeform: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { event_id: id, event_type: type, form_response: data }, (body) => ({
      'typeform-signature': `sha256=${hmacOf(secret, body, 'base64')}`,
    })),

  woocommerce: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, data, (body) => ({
      'x-wc-webhook-topic': type,
      'x-wc-webhook-delivery-id': id,
      'x-wc-webhook-signature': hmacOf(secret, body, 'base64'),
    })),

  x: ({ type, secret, id, data, raw }) =>
    jsonSample(raw, { data: { event_type: type, event_uuid: id, payload: data } }, (body) => ({
      'x-twitter-webhooks-signature': `sha256=${hmacOf(secret, body, 'base64')}`,
    })),

  /** Standard Webhooks, v1. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
  'standard-webhooks': ({ type, secret, id, now, data, raw }) => {
    const message = raw === undefined ? withPrefix('msg_', id) : id
    return jsonSample(raw, { type, timestamp: isoTime(now), data }, (body) =>
      standardHeaders(secret, message, now, body),
    )
  },

  /** Stripe: `Stripe-Signature: t=…,v1=…`. https://docs.stripe.com/webhooks#verify-manually */
  stripe: ({ type, secret, id, now, data, raw }) => {
    const seconds = secondsOf(now)
    const sample = {
      id: withPrefix('evt_', id.replaceAll('-', '')),
      object: 'event',
      type,
      created: seconds,
      livemode: false,
      data: { object: data },
    }
    return jsonSample(raw, sample, (body) => ({
      'stripe-signature': `t=${seconds},v1=${hmacOf(secret, `${seconds}.${body}`)}`,
    }))
  },

  calendly: ({ type, secret, id, now, data, raw }) => {
    const time = secondsOf(now)
    const sample = { event: type, created_at: isoTime(now), payload: { uri: id, sample: data } }
    return jsonSample(raw, sample, (body) => ({
      'calendly-webhook-signature': `t=${time},v1=${hmacOf(secret, `${time}.${body}`)}`,
    }))
  },

  /**
   * Discord's webhook events; the secret is the 32 bytes of a private key in hex, whose public half the receiver has.
   * https://docs.discord.com/developers/events/webhook-events
   */
  discord: ({ type, secret, id, now, data, raw }) => {
    const event = { type, timestamp: isoTime(now), data }
    const time = String(secondsOf(now))
    const key = privateKey(Buffer.from(derPrefix + secret, 'hex'))
    return jsonSample(raw, { version: 1, application_id: id, type: 1, event }, (body) => ({
      'x-signature-timestamp': time,
      'x-signature-ed25519': sign(null, Buffer.from(time + body), key).toString('hex'),
    }))
  },

  /** GitLab: a secret of `whsec_…` signs, any other goes along. https://docs.gitlab.com/user/project/integrations/webhooks/ */
  gitlab: ({ type, secret, id, now, data, raw }) => {
    const [kind, action] = splitType(type)
    const sample = { object_kind: kind, object_attributes: { action, sample: data } }
    return jsonSample(raw, sample, (body) => ({
      'x-gitlab-event': `${kind} Hook`,
      'idempotency-key': id,
      ...(secret.startsWith('whsec_')
        ? standardHeaders(secret, id, now, body)
        : { 'x-gitlab-token': secret }),
    }))
  },

  /** HubSpot, version 3: a batch of one event. https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation */
  hubspot: ({ type, secret, id, now, data, url = '', raw }) => {
    const event = { eventId: id, subscriptionType: type, occurredAt: now, attemptNumber: 0, sample: data }
    return jsonSample(raw, [event], (body) => ({
      'x-hubspot-request-timestamp': String(now),
      'x-hubspot-signature-v3': hmacOf(secret, `POST${url}${body}${now}`, 'base64'),
    }))
  },

  /** Mailgun signs within the body. */
  mailgun: ({ type, secret, id, now, data, raw }) => {
    const timestamp = String(secondsOf(now))
    const signature = { timestamp, token: id, signature: hmacOf(secret, timestamp + id) }
    const renewed = raw?.replace('"signature":"[redacted]"', () => `"signature":${JSON.stringify(signature)}`)
    return jsonSample(renewed, { signature, 'event-data': { event: type, id, sample: data } }, () => ({}))
  },

  paddle: ({ type, secret, id, now, data, raw }) => {
    const time = secondsOf(now)
    return jsonSample(raw, { event_id: withPrefix('evt_', id), event_type: type, data }, (body) => ({
      'paddle-signature': `ts=${time};h1=${hmacOf(secret, `${time}:${body}`)}`,
    }))
  },

  /**
   * SendGrid: a batch of one event. The secret is a P-256 private key (PKCS #8 in base64), whose public half the receiver has.
   * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
   */
  sendgrid: ({ type, secret, id, now, data, raw }) => {
    const time = secondsOf(now)
    const key = privateKey(Buffer.from(secret, 'base64'))
    const event = { event: type, sg_event_id: id, timestamp: time, sample: data }
    return jsonSample(raw, [event], (body) => {
      const signature = sign('sha256', Buffer.from(time + body), key).toString('base64')
      return {
        'x-twilio-email-event-webhook-timestamp': String(time),
        'x-twilio-email-event-webhook-signature': signature,
      }
    })
  },

  /** Slack's Events API, or a slash command for `slash_command.NAME`. https://docs.slack.dev/authentication/verifying-requests-from-slack */
  slack: ({ type, secret, id, now, data, raw }) => {
    const [kind, command] = splitType(type)
    const isCommand = kind === 'slash_command' && command !== undefined
    const fields = { command: `/${command}`, text: fieldOf(data), trigger_id: id }
    const form = isCommand ? new URLSearchParams(fields).toString() : undefined
    const time = String(secondsOf(now))
    const sample = { type: 'event_callback', event_id: `Ev${id}`, event: { type, sample: data } }
    return jsonSample(raw ?? form, sample, (body) => ({
      ...(isCommand && formType),
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
    }))
  },

  zendesk: ({ type, secret, id, now, data, raw }) => {
    const time = `${isoTime(now).slice(0, 19)}Z`
    return jsonSample(raw, { id, type, detail: data }, (body) => ({
      'x-zendesk-webhook-invocation-id': id,
      'x-zendesk-webhook-signature-timestamp': time,
      'x-zendesk-webhook-signature': hmacOf(secret, time + body, 'base64'),
    }))
  },

  zoom: ({ type, secret, id, now, data, raw }) => {
    const time = String(secondsOf(now))
    const sample = { event: type, event_ts: now, payload: { object: { uuid: id, sample: data } } }
    return jsonSample(raw, sample, (body) => ({
      'x-zm-request-timestamp': time,
      'x-zm-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
    }))
  },
}
