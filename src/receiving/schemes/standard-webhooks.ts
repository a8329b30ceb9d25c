import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { headerOf } from './body.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import {
  decodeDigest,
  decodeKey,
  ed25519,
  ed25519Key,
  findEqual,
  mostSignatures,
  verifies,
} from './digest.ts'
import { preset } from './preset.ts'
import { type Check, checkTime, defaultTolerance, refuse, shownAt, type TimedOptions } from './scheme.ts'

/**
 * Standard Webhooks: headers `webhook-*` or `svix-*`, with signatures over `id.timestamp.body`, separated by spaces. `v1` is
 * HMAC-SHA256 in base64; its secret is base64, with or without `whsec_` and padding. `v1a` is ed25519; its secret is the
 * sender's public key, `whpk_` and base64. The id is that of the signed header, the type `type` in the body.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
export const standardWebhooks = preset<TimedOptions>('standard-webhooks', {
  check: (secrets, { tolerance }) => standardCheck(secrets, tolerance),
  id: (_, { headers }) => readHeaders(headers).id,
  type: (body) => body['type'],
})

/** The check alone, for senders that sign in this way and identify their events differently. */
export function standardCheck(secrets: readonly string[], tolerance = defaultTolerance): Check {
  // Some dashboards show a secret as `v1,whsec_…`, which splitting at commas separates.
  const keys = secrets.filter((secret) => !/^v1a?$/.test(secret)).map(readKey)
  const symmetric = keys.filter((key) => 'mac' in key)
  const publicKeys = keys.filter((key) => 'key' in key)
  return ({ rawBody, headers, now }) => {
    const { id, timestamp, signatures } = readHeaders(headers)
    if (id === undefined || timestamp === undefined || signatures === undefined)
      return refuse('a webhook- header is missing', 'signature-missing')
    const signed = `${id}.${timestamp}.`
    const digests = symmetric.map(({ mac }) => mac.digest(signed, rawBody))
    const shown =
      symmetric[findEqual(digests, readSignatures(signatures, 'v1,'))] ??
      publicKeys.find(({ key }) => {
        const message = Buffer.concat([Buffer.from(signed), rawBody])
        return readSignatures(signatures, 'v1a,').some((one) => verifies(ed25519, key, message, one))
      })
    if (!shown) return refuse('webhook-signature does not match')
    return shownAt(shown.secret, checkTime(timestamp, now, tolerance))
  }
}

type Key = { secret: string; mac: HmacKey } | { secret: string; key: KeyObject }

const symmetricPrefix = 'whsec_'
const publicPrefix = 'whpk_'

function readKey(secret: string): Key {
  const text = secret.replace(/^v1a?,/, '')
  if (text.startsWith(publicPrefix)) {
    const bytes = decodeKey(text.slice(publicPrefix.length))
    if (bytes?.length !== 32)
      throw new Error('a public key of Standard Webhooks is whpk_ and 32 bytes in base64')
    return { secret, key: ed25519Key(bytes) }
  }
  const encoded = text.startsWith(symmetricPrefix) ? text.slice(symmetricPrefix.length) : text
  const bytes = decodeKey(encoded)
  if (!bytes || bytes.length === 0)
    throw new TypeError(
      'a secret of Standard Webhooks is base64, with or without whsec_ before it. If the sender signs with the text itself, as Polar does, encode it: Buffer.from(secret).toString("base64")',
    )
  return { secret, mac: new HmacKey('sha256', bytes) }
}

/** Reads the headers of one family, never a mixture. */
function readHeaders(headers: IncomingHttpHeaders) {
  const family =
    headers['webhook-signature'] === undefined && headers['svix-signature'] !== undefined ? 'svix' : 'webhook'
  const read = (name: string): string | undefined => headerOf(headers, `${family}-${name}`)
  return { id: read('id'), timestamp: read('timestamp'), signatures: read('signature') }
}

function readSignatures(header: string, version: 'v1,' | 'v1a,'): Buffer[] {
  const signatures: Buffer[] = []
  for (const item of header.split(' ')) {
    if (signatures.length === mostSignatures) break
    const signature = item.startsWith(version)
      ? decodeDigest(item.slice(version.length), 'base64')
      : undefined
    if (signature) signatures.push(signature)
  }
  return signatures
}
