import { createHash } from 'node:crypto'
import { rawQuery } from '../../http/requests/parameters.ts'
import { equalBytes, HmacKey } from '../../crypto/secrets.ts'
import {
  bodyDigest,
  form,
  headerOf,
  identify,
  json,
  kindOf,
  queryParameter,
  readForm,
  readObject,
} from './body.ts'
import { decodeDigest, findEqual } from './digest.ts'
import { preset } from './preset.ts'
import {
  type Check,
  type Delivery,
  refuse,
  type Rejected,
  type Reply,
  type VerificationResult,
} from './scheme.ts'
import type { AddressedOptions } from './presets.ts'

/** An answer without instructions: Twilio reads the answer to a message or a call, and reports anything but TwiML. */
const noInstructions: Reply = {
  status: 200,
  body: '<?xml version="1.0" encoding="UTF-8"?><Response/>',
  contentType: 'text/xml; charset=utf-8',
}

/**
 * Twilio: `X-Twilio-Signature`, HMAC-SHA1 in base64 with the account's auth token. It signs the URL and, for forms, the names and
 * values of the fields, sorted by name; for JSON, the URL contains the body's SHA-256 as `bodySHA256`. The id is the digest of the
 * signed text, so that one signature is one event, although several forms have the same signed text. The header
 * `I-Twilio-Idempotency-Token` is not signed and is ignored. The type of a form is `EventType`, or else the kind and the status:
 * `message.delivered`, `call.completed`, `message.received`. Twilio signs no time. A GET has its fields in the
 * query, which becomes the payload. Forms are answered with empty TwiML.
 * https://www.twilio.com/docs/usage/security#validating-requests
 */
export const twilio = preset<AddressedOptions>('twilio', {
  mediaTypes: [json, form],
  typesHaveActions: true,
  sendsGet: true,
  check: (secrets, { url }) => twilioCheck(secrets, url),
  read: (delivery, { signed = '' }) => {
    if (delivery.rawBody.length === 0) return readQuery(delivery, bodyDigest(signed))
    return kindOf(delivery.rawBody) === 'form'
      ? readCallback(delivery, bodyDigest(signed))
      : readEvent(delivery, bodyDigest(signed))
  },
})

function twilioCheck(secrets: readonly string[], configured: string | undefined): Check {
  const keys = secrets.map((secret) => ({ secret, mac: new HmacKey('sha1', secret) }))
  return ({ rawBody, headers, url = '' }) => {
    const signature = decodeDigest(headerOf(headers, 'x-twilio-signature') ?? '', 'base64')
    if (!signature) return refuse('x-twilio-signature is missing', 'signature-missing')
    const called = addQuery(configured, url)
    const digest = queryParameter(called, 'bodySHA256')
    if (digest !== undefined && !isDigestOf(digest, rawBody)) return refuse('bodySHA256 does not match')
    if (digest === undefined && kindOf(rawBody) !== 'form' && rawBody.length > 0)
      return refuse('the body is not signed')
    const fields = digest === undefined ? sortedFields(rawBody) : ''
    if (typeof fields !== 'string') return fields
    for (const { secret, mac } of keys) {
      // Some of Twilio's products sign the address with the port that the scheme implies, others without one.
      const addresses = [called, otherPort(called)]
      const expected = addresses.map((address) => mac.digest(address, fields))
      const found = findEqual(expected, [signature])
      if (found !== -1) return { secret, signed: `${addresses[found]}${fields}` }
    }
    return refuse('x-twilio-signature does not match')
  }
}

/** Returns the configured address with the query of the request. If it has its own, Twilio adds only the body's digest to it. */
function addQuery(configured: string | undefined, url: string): string {
  if (configured === undefined) return url
  const at = url.indexOf('?')
  if (!configured.includes('?')) return at === -1 ? configured : configured + url.slice(at)
  const digest = /[?&](bodySHA256=[^&]*)/.exec(url)?.[1]
  return digest === undefined || configured.includes('bodySHA256=') ? configured : `${configured}&${digest}`
}

function otherPort(address: string): string {
  return address.replace(
    /^(https?):\/\/([^/?#:]+)(:\d+)?/,
    (_, scheme: string, host: string, port?: string) =>
      port ? `${scheme}://${host}` : `${scheme}://${host}:${scheme === 'https' ? 443 : 80}`,
  )
}

function isDigestOf(hex: string, rawBody: Buffer): boolean {
  const sent = decodeDigest(hex, 'hex')
  return sent !== undefined && equalBytes(sent, createHash('sha256').update(rawBody).digest())
}

/** Sorts names by code units. The values of a name are sorted too, and equal ones count once. */
function sortedFields(rawBody: Buffer): string | Rejected {
  const form = readForm(rawBody)
  if ('rejected' in form) return form
  return [...form.groups.keys()]
    .toSorted()
    .map((name) =>
      [...new Set(form.groups.get(name))]
        .toSorted()
        .map((value) => name + value)
        .join(''),
    )
    .join('')
}

/** Of a GET, the query has the fields, and becomes the event's payload. */
function readQuery(delivery: Delivery, id: string): VerificationResult {
  const query = rawQuery(delivery.url ?? '')
  const bytes = Buffer.from(query)
  const event = readCallback({ ...delivery, rawBody: bytes }, id)
  return 'id' in event ? { ...event, content: { bytes, type: form } } : event
}

function readCallback({ rawBody }: Delivery, id: string): VerificationResult {
  const form = readForm(rawBody)
  if ('rejected' in form) return form
  const { field } = form
  const status = field('MessageStatus') ?? field('SmsStatus')
  const call = field('CallStatus')
  const type =
    field('EventType') ??
    (status === undefined ? undefined : `message.${status}`) ??
    (call === undefined ? 'callback' : `call.${call}`)
  return identify(id, type, noInstructions)
}

function readEvent({ rawBody }: Delivery, id: string): VerificationResult {
  const body = readObject(rawBody)
  if ('rejected' in body) return body
  return identify(id, body.object['type'] ?? body.object['EventType'] ?? 'callback')
}
