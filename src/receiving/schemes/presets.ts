import {
  bodyDigest,
  digestWithout,
  eventsOf,
  form,
  fromObject,
  headerOf,
  identify,
  json,
  kindAndAction,
  kindOf,
  readForm,
  readJson,
  readObject,
  type UnsignedIdOptions,
  valueAt,
  withDigest,
} from './body.ts'
import { comparedCheck, repeatsCredential } from './credentials.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { hmacCheck, timedPairs } from './hmac.ts'
import { preset } from './preset.ts'
import { createScheme } from './create-scheme.ts'
import {
  answerEmpty,
  answerJson,
  answerText,
  checkTime,
  defaultTolerance,
  malformed,
  refuse,
  type Scheme,
  type SourceOptions,
  type TimedOptions,
} from './scheme.ts'
import { newId } from '../../crypto/ids.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import { parseExactly } from '../../json/exact.ts'

/**
 * Auth0's log streams to a custom webhook, with the stream's authorization token, which Auth0 repeats in `Authorization`; it signs nothing.
 * Each log of a request (JSON lines, array or object) is an event of its own. The id is `log_id`, the type `data.type`, such as `s`.
 * https://auth0.com/docs/customize/log-streams/custom-log-streams
 */
export const auth0 = preset<SourceOptions>('auth0', {
  mediaTypes: [json, 'application/x-ndjson', 'text/plain'],
  caution: repeatsCredential,
  check: comparedCheck('authorization', ({ headers }) => headerOf(headers, 'authorization')),
  read({ rawBody }) {
    const whole = readJson(rawBody, parseExactly)
    if ('value' in whole) return eventsOf([whole.value].flat(), readLog)
    const logs: unknown[] = []
    for (const line of rawBody.toString('latin1').split('\n')) {
      if (line.trim() === '') continue
      const log = readJson(Buffer.from(line, 'latin1'), parseExactly)
      if ('rejected' in log) return log
      logs.push(log.value)
    }
    return eventsOf(logs, readLog)
  },
})

const readLog = (log: unknown) => identify(valueAt(log, 'log_id'), valueAt(log, 'data.type'))

/**
 * Bitbucket, Cloud and Data Center: `X-Hub-Signature: sha256=<hex>`, HMAC-SHA256 over the body. The type is `X-Event-Key`, such
 * as `repo:push`. The id is `X-Request-UUID` (Cloud) or `X-Request-Id` (Data Center). The id and the time are not signed, and
 * Bitbucket does not document whether retries repeat the id; `id: 'digest'` uses the body instead.
 * https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
 * https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html
 */
export const bitbucket = preset<SourceOptions & UnsignedIdOptions>('bitbucket', {
  signed: { header: 'x-hub-signature', prefix: 'sha256=' },
  id: (_, { rawBody, headers }) =>
    headerOf(headers, 'x-request-uuid') ?? headerOf(headers, 'x-request-id') ?? bodyDigest(rawBody),
  type: (_, { headers }) => headerOf(headers, 'x-event-key'),
})

/**
 * Calendly: `Calendly-Webhook-Signature: t=<seconds>,v1=<hex>`, HMAC-SHA256 over `t.body` with the subscription's signing
 * key. The type is `event`, such as `invitee.created`. Calendly sends no id, so the id is the digest of the body, which
 * contains `created_at`.
 * https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures
 */
export const calendly = preset<TimedOptions>('calendly', {
  signed: { header: 'calendly-webhook-signature', ...timedPairs },
  id: (_, { rawBody }) => bodyDigest(rawBody),
  type: (body) => body['event'],
})

/**
 * Docusign Connect: `X-DocuSign-Signature-1`, `-2` and so on, one for each key of the account: HMAC-SHA256 over the body in base64,
 * with the key as text. The type is `event` of the JSON format, such as `envelope-completed`. Docusign sends no id, so the id is the digest of the
 * body, which contains the time of the event, without its `retryCount`. Docusign signs no time.
 * https://developers.docusign.com/platform/webhooks/connect/validate
 * https://developers.docusign.com/platform/webhooks/connect/json-sim-event-model
 */
export const docusign = preset<SourceOptions>('docusign', {
  check(secrets) {
    const keys = secrets.map((secret) => new HmacKey('sha256', secret))
    return ({ rawBody, headers }) => {
      const sent = Object.keys(headers)
        .filter((name) => docusignHeader.test(name))
        .flatMap((name) => decodeDigest(headerOf(headers, name) ?? '', 'base64') ?? [])
      if (sent.length === 0) return refuse('x-docusign-signature-1 is missing', 'signature-missing')
      const expected = keys.map((key) => key.digest(rawBody))
      const found = findEqual(expected, sent)
      return found === -1 ? refuse('no x-docusign-signature matches') : { secret: secrets[found]! }
    }
  },
  read({ rawBody }) {
    // All digits count.
    const body = readJson(rawBody, parseExactly)
    return 'rejected' in body
      ? body
      : identify(digestWithout(body.value, 'retryCount'), valueAt(body.value, 'event'))
  },
})

const docusignHeader = /^x-docusign-signature-\d{1,3}$/

/**
 * Dropbox: `X-Dropbox-Signature`, hex HMAC-SHA256 over the body with the app secret. Its GET with `challenge` is answered.
 * The type is the body's first field, `list_folder`. A notification only says whose files have changed, without an id or a
 * time, so two changes can have equal bodies. Therefore each request, also a retry, is a new event; the handler asks Dropbox
 * for the changes since its cursor.
 * https://www.dropbox.com/developers/reference/webhooks
 */
export const dropbox = preset<SourceOptions>('dropbox', {
  signed: { header: 'x-dropbox-signature' },
  ask({ query }) {
    const challenge = query.get('challenge')
    return challenge === null ? malformed('There is no challenge.') : answerText(challenge)
  },
  id: (_, { now }) => newId(now),
  type: (body) => Object.keys(body)[0],
})

/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body. The id is `X-GitHub-Delivery`, which redeliveries
 * repeat. GitHub signs neither the id nor a time; `id: 'digest'` uses the body instead. The type is the event header, with
 * `.action` if the body has one: `push`, `issues.opened`. In webhooks of content type form, `payload` has the JSON. The
 * signed bytes show which of the two it is, because `Content-Type` is not signed.
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
 */
export const github = preset<SourceOptions & UnsignedIdOptions>('github', {
  mediaTypes: [json, form],
  typesHaveActions: true,
  signed: { header: 'x-hub-signature-256', prefix: 'sha256=' },
  read({ rawBody, headers }, _, options) {
    const sent = kindOf(rawBody) === 'form' ? readForm(rawBody) : undefined
    if (sent && 'rejected' in sent) return sent
    const body = readObject(sent ? Buffer.from(sent.field('payload') ?? '') : rawBody)
    if ('rejected' in body) return body
    const id = options.id === 'digest' ? bodyDigest(rawBody) : headers['x-github-delivery']
    return identify(id, kindAndAction(headers['x-github-event'], body.object['action']))
  },
})

/**
 * Intercom: `X-Hub-Signature: sha1=<hex>`, HMAC-SHA1 over the body with the app's client secret. The id is that of the
 * notification (`notif_…`), the type its `topic`. The `ping` of Intercom's test has none, so its id is the digest of the body, which contains
 * `created_at`. Intercom tests an address with HEAD, which is answered. It signs no time.
 * https://developers.intercom.com/docs/webhooks/setting-up-webhooks
 */
export const intercom = preset<SourceOptions>('intercom', {
  signed: { header: 'x-hub-signature', algorithm: 'sha1', prefix: 'sha1=' },
  ask: () => answerEmpty(),
  id: (body, { rawBody }) => body['id'] ?? bodyDigest(rawBody),
  type: (body) => body['topic'],
})

/**
 * Linear: `Linear-Signature`, hex HMAC-SHA256 over the body, which contains the time as `webhookTimestamp` in milliseconds
 * (Linear recommends a tolerance of 60 s). The id is `Linear-Delivery`, which is not signed; `id: 'digest'` uses the body instead.
 * The type is that of the body, with the action: `Issue.create`.
 * https://linear.app/developers/webhooks
 */
export const linear = preset<TimedOptions & UnsignedIdOptions>('linear', {
  typesHaveActions: true,
  signed: { header: 'linear-signature' },
  read({ rawBody, headers, now }, _, { id, tolerance = defaultTolerance }) {
    const body = readObject(rawBody)
    if ('rejected' in body) return body
    const { webhookTimestamp, type, action } = body.object
    const time = checkTime(String(webhookTimestamp), now, tolerance, 'milliseconds')
    if ('rejected' in time) return time
    const delivery = id === 'digest' ? undefined : headerOf(headers, 'linear-delivery')
    const event = identify(delivery ?? bodyDigest(rawBody), kindAndAction(type, action))
    return 'id' in event ? { ...event, signedAt: time.signedAt } : event
  },
})

/** The request by which Notion tells its token, before it signs anything. */
const verificationToken = /^\s*\{\s*"verification_token"\s*:\s*"([\w-]{16,150})"\s*\}\s*$/

/** Milliseconds between two tokens that are logged: anybody can send one. */
const betweenTokens = 10_000

/**
 * Notion: `X-Notion-Signature: sha256=<hex>`, HMAC-SHA256 over the body with the subscription's verification token. The id is `id`, which retries
 * repeat, the type `type`, such as `page.created`. Notion signs no time. When a subscription is created, Notion sends its token unsigned: the request is
 * answered and the token logged, because it must be entered in Notion. It is trusted only once it is the source's secret.
 * https://developers.notion.com/reference/webhooks
 */
export const notion = preset<SourceOptions>('notion', {
  signed: { header: 'x-notion-signature', prefix: 'sha256=' },
  unsigned(secrets) {
    const known = secrets.map((secret) => Buffer.from(secret))
    let loggedAt = -Infinity
    return (text, now) => {
      const token = verificationToken.exec(text)?.[1]
      if (token === undefined) return undefined
      const isKnown = findEqual(known, [Buffer.from(token)]) !== -1
      if (isKnown || Math.abs(now - loggedAt) < betweenTokens) return answerEmpty()
      loggedAt = now
      return { ...answerEmpty(), note: `verification_token ${token}` }
    }
  },
  id: (body) => body['id'],
  type: (body) => body['type'],
})

/**
 * Paddle Billing: `Paddle-Signature: ts=<seconds>;h1=<hex>[;h1=…]`, HMAC-SHA256 over `ts:body` with the destination's
 * secret key. During a rotation of the key, there are several h1. The id is `event_id`, the type `event_type`. Paddle's own
 * libraries have a tolerance of 5 s.
 * https://developer.paddle.com/webhooks/signature-verification
 */
export const paddle = preset<TimedOptions>('paddle', {
  signed: {
    header: 'paddle-signature',
    pairs: { separator: ';', signature: 'h1', timestamp: 'ts' },
    template: '{timestamp}:{body}',
  },
  id: (body) => body['event_id'],
  type: (body) => body['event_type'],
})

/**
 * PagerDuty's webhooks of version 3: `X-PagerDuty-Signature: v1=<hex>[,v1=…]`, HMAC-SHA256 over the body, one v1 for each secret of the
 * subscription. The id is `event.id`, the type `event.event_type`, such as `incident.triggered`. PagerDuty signs no time.
 * https://docs.pagerduty.com/developer/verifying-webhook-signatures
 */
export const pagerduty = preset<SourceOptions>('pagerduty', {
  signed: { header: 'x-pagerduty-signature', pairs: { signature: 'v1' } },
  id: (body) => valueAt(body, 'event.id'),
  type: (body) => valueAt(body, 'event.event_type'),
})

/**
 * Sentry's integrations: `Sentry-Hook-Signature`, hex HMAC-SHA256 over the body with the integration's client secret. The type is
 * `Sentry-Hook-Resource` with the body's `action`: `issue.created`. The id is `Request-ID`; neither it nor the headers of resource and time are
 * signed, and Sentry does not document whether retries repeat it. `id: 'digest'` uses the body instead, but two changes can have equal bodies.
 * https://docs.sentry.io/integrations/integration-platform/webhooks/
 */
export const sentry = preset<SourceOptions & UnsignedIdOptions>('sentry', {
  typesHaveActions: true,
  signed: { header: 'sentry-hook-signature' },
  id: (_, { headers }) => headers['request-id'],
  type: (body, { headers }) => kindAndAction(headers['sentry-hook-resource'], body['action']),
})

/**
 * Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 over `t.body` with the endpoint's `whsec_…` secret
 * as text. During a rotation, there is one v1 for each secret. The id is that of the event (`evt_…`).
 * https://docs.stripe.com/webhooks/signature
 */
export const stripe = preset<TimedOptions, StripeEvent>('stripe', {
  signed: { header: 'stripe-signature', ...timedPairs },
  id: (body) => body['id'],
  type: (body) => body['type'],
})

/**
 * Typeform: `Typeform-Signature: sha256=<base64>`, HMAC-SHA256 over the body. The id is `event_id`, the type `event_type`,
 * such as `form_response`. Typeform signs no time.
 * https://www.typeform.com/developers/webhooks/secure-your-webhooks/
 */
export const typeform = preset<SourceOptions>('typeform', {
  signed: { header: 'typeform-signature', prefix: 'sha256=', encoding: 'base64' },
  id: (body) => body['event_id'],
  type: (body) => body['event_type'],
})

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
export const woocommerce = preset<SourceOptions & UnsignedIdOptions>('woocommerce', {
  signed: { header: 'x-wc-webhook-signature', encoding: 'base64' },
  unsigned: () => (text) => (ping.test(text) ? answerEmpty() : undefined),
  id: (_, { rawBody, headers }) => withDigest(headerOf(headers, 'x-wc-webhook-delivery-id'), rawBody),
  type: (_, { headers }) => headerOf(headers, 'x-wc-webhook-topic'),
})

/**
 * The characters of a token. Anybody can request its HMAC, under the secret that also signs events: if a token could be a JSON
 * object, the response would be the signature of a forged event.
 */
const tokenForm = /^[\w.~+/=-]{1,512}$/

/**
 * X (Twitter), with the app's consumer secret: `x-twitter-webhooks-signature: sha256=<base64>`, HMAC-SHA256 over the body.
 * The challenge-response check, a GET with `crc_token`, is answered with the token's HMAC under the first secret. The type is
 * `data.event_type` (X Activity) or the field with the events, such as `tweet_create_events` (Account Activity). X sends no
 * id, so the id is the digest of the body. X signs no time.
 * https://docs.x.com/x-api/webhooks/quickstart
 */
export const x = preset<SourceOptions>('x', {
  signed: { header: 'x-twitter-webhooks-signature', prefix: 'sha256=', encoding: 'base64' },
  ask({ query }, [secret = '']) {
    const token = query.get('crc_token') ?? ''
    if (!tokenForm.test(token))
      return malformed('The crc_token is missing, or contains characters that X does not use.')
    return answerJson({
      response_token: `sha256=${new HmacKey('sha256', secret).digest(token).toString('base64')}`,
    })
  },
  id: (_, { rawBody }) => bodyDigest(rawBody),
  type: (body) =>
    valueAt(body, 'data.event_type') ?? Object.keys(body).find((name) => name.endsWith('_events')) ?? 'event',
})

/**
 * Zendesk: `X-Zendesk-Webhook-Signature`, HMAC-SHA256 in base64 over `X-Zendesk-Webhook-Signature-Timestamp` (ISO 8601) and
 * the body. Events have `id` and `type` in their JSON, such as `zen:event-type:ticket.created`. The author of a trigger or an
 * automation defines its body (JSON, XML or a form): its type is `trigger` unless the JSON has one, and its id is
 * `X-Zendesk-Webhook-Invocation-Id`, which is not signed; `id: 'digest'` uses the signed time and the body instead. Zendesk does not document whether retries have a new time and signature: raise
 * `tolerance` if Postern rejects them.
 * https://developer.zendesk.com/documentation/webhooks/verifying/
 */
export const zendesk = preset<TimedOptions & UnsignedIdOptions>('zendesk', {
  mediaTypes: [json, form, 'application/xml', 'text/xml', 'text/plain'],
  signed: {
    header: 'x-zendesk-webhook-signature',
    encoding: 'base64',
    timestampHeader: 'x-zendesk-webhook-signature-timestamp',
    timestampUnit: 'iso',
    template: '{timestamp}{body}',
  },
  read({ rawBody, headers }, { signedAt }, options) {
    const body = readObject(rawBody)
    const { id, type }: { id?: unknown; type?: unknown } = 'object' in body ? body.object : {}
    const isEvent = typeof id === 'string' && typeof type === 'string'
    // Two runs of a trigger can have equal bodies.
    const signed = Buffer.concat([Buffer.from(`${signedAt}:`), rawBody])
    const invocation =
      options.id === 'digest' ? undefined : headerOf(headers, 'x-zendesk-webhook-invocation-id')
    const eventId = isEvent ? id : (invocation ?? bodyDigest(signed))
    return identify(eventId, typeof type === 'string' && type !== '' ? type : 'trigger')
  },
})

/**
 * Zoom: `x-zm-signature: v0=<hex>`, HMAC-SHA256 over `v0:<x-zm-request-timestamp>:<body>` with the app's secret token.
 * `endpoint.url_validation`, which is signed as well, is answered with its token and the token's HMAC. The type is `event`.
 * Zoom sends no id, so the id is the digest of the body, which contains `event_ts`. Zoom does not document whether retries
 * have a new time and signature: raise `tolerance` if Postern rejects them.
 * https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events
 */
export const zoom = preset<TimedOptions>('zoom', {
  signed: {
    header: 'x-zm-signature',
    prefix: 'v0=',
    timestampHeader: 'x-zm-request-timestamp',
    template: 'v0:{timestamp}:{body}',
  },
  read({ rawBody }, { secret }) {
    const body = readObject(rawBody)
    if ('rejected' in body) return body
    const plainToken = valueAt(body.object, 'payload.plainToken')
    if (body.object['event'] === 'endpoint.url_validation' && typeof plainToken === 'string') {
      const encryptedToken = new HmacKey('sha256', secret).digest(plainToken).toString('hex')
      return answerJson({ plainToken, encryptedToken })
    }
    return identify(bodyDigest(rawBody), body.object['event'])
  },
})

/**
 * What all of Stripe's snapshot events have in common (https://docs.stripe.com/api/events/object). The object depends on the type and
 * on the API version of the account. Thin events have other fields: declare a schema for their types.
 */
export interface StripeEvent {
  readonly id: string
  readonly object: 'event'
  readonly type: string
  /** Seconds since 1970. */
  readonly created: number
  readonly livemode: boolean
  readonly api_version: string | null
  readonly pending_webhooks: number
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null } | null
  /** The connected account, for events of Connect. */
  readonly account?: string
  readonly data: {
    readonly object: Readonly<Record<string, unknown>>
    /** The former values of changed fields. */
    readonly previous_attributes?: Readonly<Record<string, unknown>>
  }
}

export interface AddressedOptions extends SourceOptions {
  /** The address as the sender knows it. Default BASE_URL and the path. */
  url?: string
}

/**
 * Square: `x-square-hmacsha256-signature`, HMAC-SHA256 in base64 over the notification URL and the body, with the
 * subscription's signature key. The URL must equal that of the subscription exactly. The id is `event_id`, the type
 * `type`. Square signs no time.
 * https://developer.squareup.com/docs/webhooks/step3validate
 */
export const square = preset<AddressedOptions>('square', {
  signed: { header: 'x-square-hmacsha256-signature', encoding: 'base64', template: '{url}{body}' },
  id: (body) => body['event_id'],
  type: (body) => body['type'],
})

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
    read: fromObject((_, { rawBody, headers }) => {
      const isEvent = eventsHeader in headers
      const read = (name: string) => headerOf(headers, isEvent ? name : `x-${name}`)
      const topic = read('shopify-topic')
      const action = isEvent && topic !== undefined ? read('shopify-action') : undefined
      const type = action === undefined ? topic : `${topic}/${action}`
      const sendersId = options.id === 'digest' ? bodyDigest(rawBody) : read('shopify-webhook-id')
      return identify(sendersId ?? bodyDigest(`${type}\n${rawBody.toString('latin1')}`), type)
    }),
  })
}
