import { readFields } from '../http/requests/parameters.ts'
import { redactedValue } from '../telemetry/printable.ts'

/**
 * Fields that hold a sender's credentials or signatures, by the scheme that verified the event:
 * Adyen's signature of an item (https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures),
 * Discord's interaction token (https://docs.discord.com/developers/interactions/receiving-and-responding),
 * Mailgun's signature (https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks),
 * Graph's shared state and tokens (https://learn.microsoft.com/graph/change-notifications-delivery-webhooks),
 * Slack's verification token and the response URL, which needs no authentication
 * (https://docs.slack.dev/interactivity/handling-user-interaction#message_responses),
 * the signature and the addresses of SNS (https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html),
 * Stripe's client secrets (https://docs.stripe.com/api/payment_intents/object#payment_intent_object-client_secret),
 * and WooCommerce's key of an order (https://developer.woocommerce.com/docs/apis/rest-api/v3/orders/).
 */
const secretFields: Readonly<Record<string, readonly string[]>> = {
  adyen: ['hmacSignature'],
  discord: ['token'],
  mailgun: ['token', 'signature', 'parent-signature'],
  'microsoft-graph': ['clientState', 'validationTokens'],
  slack: ['token', 'response_url', 'response_urls'],
  sns: ['Signature', 'Token', 'SubscribeURL', 'UnsubscribeURL'],
  stripe: ['client_secret'],
  woocommerce: ['order_key'],
}

/** Whether the value of a field must be redacted, by the field's name. */
type IsSecret = (name: string) => boolean

/**
 * The payload of a received event for display: the values of its scheme's secret fields are redacted, all other bytes are
 * unchanged. Handlers get the original payload.
 */
export function redactPayload(bytes: Buffer, scheme: string | undefined): Buffer {
  const names = scheme !== undefined && Object.hasOwn(secretFields, scheme) ? secretFields[scheme] : undefined
  if (!names) return bytes
  const isSecret: IsSecret = (name) => names.includes(name)
  // Latin-1 maps each byte to one character, so all other bytes survive the conversion.
  const text = bytes.toString('latin1')
  return Buffer.from(redactText(text, isSecret), 'latin1')
}

/**
 * Redacts secret fields of a body, which may be truncated. Its bytes decide whether it is JSON or a form, because the sender chooses
 * the media type.
 */
export function redactText(text: string, isSecret: IsSecret, mark = redactedValue): string {
  const inJson = redactJson(text, isSecret, mark)
  // The byte order mark is three characters of Latin-1.
  return /^(?:\xef\xbb\xbf)?\s*[[{"]/.test(text) ? inJson : redactForm(inJson, isSecret, mark)
}

/** Redacts secret fields of JSON at any depth. The JSON may be truncated. */
function redactJson(text: string, isSecret: IsSecret, mark = redactedValue): string {
  let shown = ''
  let copied = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = endOfString(text, at)
    const colon = skipSpace(text, end)
    if (text[colon] !== ':' || !isSecret(readName(text.slice(at, end)))) {
      at = end
      continue
    }
    const value = skipSpace(text, colon + 1)
    shown += `${text.slice(copied, value)}"${mark}"`
    copied = at = endOfValue(text, value)
  }
  return shown + text.slice(copied)
}

/** Redacts secret fields of a form, also within fields that contain JSON. */
function redactForm(text: string, isSecret: IsSecret, mark = redactedValue): string {
  return text
    .split('&')
    .map((field) => {
      const at = field.indexOf('=')
      if (at === -1) return field
      const [[name, value] = ['', '']] = readFields(field)
      if (isSecret(name)) return `${field.slice(0, at)}=${mark}`
      if (!/^\s*[[{]/.test(value)) return field
      const redacted = redactJson(value, isSecret, mark)
      return redacted === value ? field : `${field.slice(0, at)}=${encodeURIComponent(redacted)}`
    })
    .join('&')
}

function readName(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    // Invalid JSON is not a name.
    return ''
  }
}

/** The index behind the string that starts at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const character = text[end]
    if (character === '\\') end += 1
    else if (character === '"') return end + 1
  }
  return text.length
}

function skipSpace(text: string, at: number): number {
  let next = at
  while (next < text.length && ' \t\r\n'.includes(text[next]!)) next += 1
  return next
}

/** The index behind the value that starts at `at`. */
function endOfValue(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at)
  let depth = 0
  for (let end = at; end < text.length;) {
    const character = text[end]!
    if (character === '"') {
      end = endOfString(text, end)
      continue
    }
    if ('[{'.includes(character)) depth += 1
    else if (depth === 0 && ',]} \t\r\n'.includes(character)) return end
    else if (']}'.includes(character)) depth -= 1
    end += 1
    if (depth === 0 && ']}'.includes(character)) return end
  }
  return text.length
}
