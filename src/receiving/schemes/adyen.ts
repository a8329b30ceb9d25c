import { HmacKey } from '../../crypto/secrets.ts'
import { parseExactly } from '../../json/exact.ts'
import {
  bodyDigest,
  eventsOf,
  fromObject,
  identify,
  type JsonObject,
  readJson,
  readUnverifiedObject,
  valueAt,
} from './body.ts'
import { preset } from './preset.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { hmacCheck } from './hmac.ts'
import {
  type Accepted,
  type Check,
  malformed,
  refuse,
  type Rejected,
  type Reply,
  type SourceOptions,
  type VerificationResult,
} from './scheme.ts'

const accepted: Reply = { status: 200, body: '[accepted]', contentType: 'text/plain; charset=utf-8' }

/** Only Adyen's platform webhooks have this header. */
const platformHeader = 'hmacsignature'

/**
 * Adyen, with the webhook's HMAC key (hex). In standard webhooks, each item of `notificationItems` is an event, and its
 * `additionalData.hmacSignature` is an HMAC-SHA256 of eight fields. Other fields are not signed. One item with a wrong signature rejects the
 * request. The type is `eventCode`. The id consists of `pspReference`, `eventCode` and `success`, which are signed: Adyen repeats the first
 * two, also with a different `success`. Platform webhooks have a header `HmacSignature` over the body; their type is `type`, and the id is the body's
 * digest. Adyen signs no time.
 * https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures
 */
export const adyen = preset<SourceOptions>('adyen', {
  caution:
    'gets signatures that cover eight fields of an item: anyone who sees a request before it arrives can change the others',
  check(secrets) {
    const [checkItems, checkBody] = [itemsCheck(secrets), bodyCheck(secrets)]
    return (delivery) => (platformHeader in delivery.headers ? checkBody(delivery) : checkItems(delivery))
  },
  read: (delivery) => (platformHeader in delivery.headers ? readBody(delivery) : readItems(delivery.rawBody)),
})

/** @throws TypeError */
function keyOf(secret: string): Buffer {
  const key = decodeDigest(secret, 'hex')
  if (!key) throw new TypeError("adyen: the secret is the webhook's HMAC key in hex digits")
  return key
}

const bodyCheck = hmacCheck({ header: platformHeader, encoding: 'base64', keyOf })

const readBody = fromObject((body, { rawBody }) => identify(bodyDigest(rawBody), body['type'], accepted))

/** Maximum items in a request. Adyen sends one in JSON. */
const mostItems = 100

function itemsCheck(secrets: readonly string[]): Check {
  const keys = secrets.map((secret) => new HmacKey('sha256', keyOf(secret)))
  return ({ rawBody }) => {
    const body = readUnverifiedObject(rawBody)
    if ('rejected' in body) return body
    const items = itemsOf(body.object)
    if ('rejected' in items) return items
    const found = keys.findIndex((key) => items.every(({ item }) => isSigned(item, key)))
    return found === -1 ? refuse('hmacSignature of an item does not match') : { secret: secrets[found]! }
  }
}

interface Item {
  readonly wrapper: unknown
  readonly item: unknown
}

function itemsOf({ notificationItems: list }: JsonObject): readonly Item[] | Rejected {
  if (!Array.isArray(list) || list.length === 0)
    return refuse('there is no notification, and no header hmacsignature', 'signature-missing')
  if (list.length > mostItems) return malformed(`The body has more than ${mostItems} items.`)
  const items = list.map((wrapper: unknown) => ({
    wrapper,
    item: valueAt(wrapper, 'NotificationRequestItem'),
  }))
  return items.every(({ item }) => typeof signatureOf(item) === 'string')
    ? items
    : refuse('an item has no hmacSignature', 'signature-missing')
}

const signatureOf = (item: unknown): unknown => valueAt(item, 'additionalData.hmacSignature')

const signedFields =
  'pspReference originalReference merchantAccountCode merchantReference amount.value amount.currency eventCode success'.split(
    ' ',
  )

/**
 * The signed values in order, or undefined if they are ambiguous: only the merchant's own reference may contain a colon. Otherwise other
 * values could have the same signed text.
 */
function signedValues(item: unknown): string[] | undefined {
  const values: string[] = []
  for (const path of signedFields) {
    const value = valueAt(item, path) ?? ''
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
    values.push(String(value))
  }
  return values.every((value, at) => at === 3 || !value.includes(':')) ? values : undefined
}

function isSigned(item: unknown, key: HmacKey): boolean {
  const values = signedValues(item)
  const sent = decodeDigest(String(signatureOf(item)), 'base64')
  if (!values || !sent) return false
  return findEqual([key.digest(values.join(':'))], [sent]) === 0
}

/** Each item becomes an event with its own body, as if it had been sent alone. */
function readItems(rawBody: Buffer): VerificationResult {
  const body = readJson(rawBody, parseExactly)
  if ('rejected' in body) return body
  const items = itemsOf(body.value as JsonObject)
  if ('rejected' in items) return items
  if (items.length === 1) return readItem(body.value)
  // Other fields are left out, because each event would have a copy of them.
  const live = valueAt(body.value, 'live') === 'true' ? 'true' : 'false'
  const bodies = items.map(({ wrapper }) => ({ live, notificationItems: [wrapper] }))
  return eventsOf(bodies, readItem)
}

function readItem(body: unknown): Accepted | Rejected {
  const values = signedValues(valueAt(body, 'notificationItems.0.NotificationRequestItem'))
  const [reference, , , , , , code, success] = values ?? []
  return identify(reference && `${reference}:${code}:${success}`, code, accepted)
}
