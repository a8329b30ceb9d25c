import { createPrivateKey, sign } from 'node:crypto'
import { fieldOf, formType, hmacOf, secondsOf, splitType, withPrefix, type SignSample } from './sample.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** What stands before the 32 bytes of an ed25519 private key in DER (RFC 8410, section 7). */
const derPrefix = '302e020100300506032b657004220420'

/** Senders that sign a time with the body. */
export const timedSigners = {
  /** Standard Webhooks, v1. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
  'standard-webhooks': ({ type, secret, id, now, data, raw }) => {
    const seconds = secondsOf(now)
    const body = raw ?? JSON.stringify({ type, timestamp: isoTime(now), data })
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const message = raw === undefined ? withPrefix('msg_', id) : id
    const signature = hmacOf(key, `${message}.${seconds}.${body}`, 'base64')
    return {
      body,
      headers: {
        'webhook-id': message,
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${signature}`,
      },
    }
  },

  /** Stripe: `Stripe-Signature: t=…,v1=…`. https://docs.stripe.com/webhooks#verify-manually */
  stripe: ({ type, secret, id, now, data, raw }) => {
    const seconds = secondsOf(now)
    const body =
      raw ??
      JSON.stringify({
        id: withPrefix('evt_', id.replaceAll('-', '')),
        object: 'event',
        type,
        created: seconds,
        livemode: false,
        data: { object: data },
      })
    const digest = hmacOf(secret, `${seconds}.${body}`)
    return { body, headers: { 'stripe-signature': `t=${seconds},v1=${digest}` } }
  },

  /** Calendly. https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures */
  calendly: ({ type, secret, id, now, data, raw }) => {
    const created = isoTime(now)
    const body =
      raw ?? JSON.stringify({ event: type, created_at: created, payload: { uri: id, sample: data } })
    const time = secondsOf(now)
    return {
      body,
      headers: { 'calendly-webhook-signature': `t=${time},v1=${hmacOf(secret, `${time}.${body}`)}` },
    }
  },

  /**
   * Discord's webhook events; the secret is the 32 bytes of a private key in hex, whose public half the receiver has.
   * https://docs.discord.com/developers/events/webhook-events
   */
  discord: ({ type, secret, id, now, data, raw }) => {
    const event = { type, timestamp: isoTime(now), data }
    const body = raw ?? JSON.stringify({ version: 1, application_id: id, type: 1, event })
    const time = String(secondsOf(now))
    const key = createPrivateKey({
      key: Buffer.from(derPrefix + secret, 'hex'),
      format: 'der',
      type: 'pkcs8',
    })
    return {
      body,
      headers: {
        'x-signature-timestamp': time,
        'x-signature-ed25519': sign(null, Buffer.from(time + body), key).toString('hex'),
      },
    }
  },

  /** GitLab: a secret of `whsec_…` signs, any other goes along. https://docs.gitlab.com/user/project/integrations/webhooks/ */
  gitlab: ({ type, secret, id, now, data, raw }) => {
    const [kind, action] = splitType(type)
    const body = raw ?? JSON.stringify({ object_kind: kind, object_attributes: { action, sample: data } })
    const headers = { 'x-gitlab-event': `${kind} Hook`, 'idempotency-key': id }
    if (!secret.startsWith('whsec_')) return { body, headers: { ...headers, 'x-gitlab-token': secret } }
    const time = String(secondsOf(now))
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const signature = hmacOf(key, `${id}.${time}.${body}`, 'base64')
    return {
      body,
      headers: {
        ...headers,
        'webhook-id': id,
        'webhook-timestamp': time,
        'webhook-signature': `v1,${signature}`,
      },
    }
  },

  /** HubSpot, version 3: a batch of one event. https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation */
  hubspot: ({ type, secret, id, now, data, url = '', raw }) => {
    const body =
      raw ??
      JSON.stringify([
        { eventId: id, subscriptionType: type, occurredAt: now, attemptNumber: 0, sample: data },
      ])
    return {
      body,
      headers: {
        'x-hubspot-request-timestamp': String(now),
        'x-hubspot-signature-v3': hmacOf(secret, `POST${url}${body}${now}`, 'base64'),
      },
    }
  },

  /** Mailgun signs within the body. https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks */
  mailgun: ({ type, secret, id, now, data, raw }) => {
    const timestamp = String(secondsOf(now))
    const signature = { timestamp, token: id, signature: hmacOf(secret, timestamp + id) }
    return {
      body:
        raw?.replace('"signature":"[redacted]"', () => `"signature":${JSON.stringify(signature)}`) ??
        JSON.stringify({ signature, 'event-data': { event: type, id, sample: data } }),
      headers: {},
    }
  },

  /** Paddle Billing. https://developer.paddle.com/webhooks/signature-verification */
  paddle: ({ type, secret, id, now, data, raw }) => {
    const body = raw ?? JSON.stringify({ event_id: withPrefix('evt_', id), event_type: type, data })
    const time = secondsOf(now)
    return { body, headers: { 'paddle-signature': `ts=${time};h1=${hmacOf(secret, `${time}:${body}`)}` } }
  },

  /**
   * SendGrid: a batch of one event. The secret is a P-256 private key (PKCS #8 in base64), whose public half the receiver has.
   * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
   */
  sendgrid: ({ type, secret, id, now, data, raw }) => {
    const body =
      raw ?? JSON.stringify([{ event: type, sg_event_id: id, timestamp: secondsOf(now), sample: data }])
    const time = String(secondsOf(now))
    const key = createPrivateKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'pkcs8' })
    return {
      body,
      headers: {
        'x-twilio-email-event-webhook-timestamp': time,
        'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(time + body), key).toString(
          'base64',
        ),
      },
    }
  },

  /** Slack's Events API, or a slash command for `slash_command.NAME`. https://docs.slack.dev/authentication/verifying-requests-from-slack */
  slack: ({ type, secret, id, now, data, raw }) => {
    const [kind, command] = splitType(type)
    const isCommand = kind === 'slash_command' && command !== undefined
    const body =
      raw ??
      (isCommand
        ? new URLSearchParams({
            command: `/${command}`,
            text: fieldOf(data),
            trigger_id: id,
          }).toString()
        : JSON.stringify({ type: 'event_callback', event_id: `Ev${id}`, event: { type, sample: data } }))
    const time = String(secondsOf(now))
    return {
      body,
      headers: {
        ...(isCommand && formType),
        'x-slack-request-timestamp': time,
        'x-slack-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
      },
    }
  },

  /** Zendesk. https://developer.zendesk.com/documentation/webhooks/verifying/ */
  zendesk: ({ type, secret, id, now, data, raw }) => {
    const body = raw ?? JSON.stringify({ id, type, detail: data })
    const time = `${isoTime(now).slice(0, 19)}Z`
    return {
      body,
      headers: {
        'x-zendesk-webhook-invocation-id': id,
        'x-zendesk-webhook-signature-timestamp': time,
        'x-zendesk-webhook-signature': hmacOf(secret, time + body, 'base64'),
      },
    }
  },

  /** Zoom. https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events */
  zoom: ({ type, secret, id, now, data, raw }) => {
    const body =
      raw ??
      JSON.stringify({
        event: type,
        event_ts: now,
        payload: { object: { uuid: id, sample: data } },
      })
    const time = String(secondsOf(now))
    return {
      body,
      headers: {
        'x-zm-request-timestamp': time,
        'x-zm-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
      },
    }
  },
} satisfies Record<string, SignSample>
