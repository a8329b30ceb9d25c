import type { IncomingHttpHeaders } from 'node:http'
import { identify, readObject } from './body.ts'
import { anyEqual, decodeDigest, digestOf } from './digest.ts'
import { createScheme, refuse, type Scheme, type SourceOptions } from './scheme.ts'
import { defaultTolerance, isCurrent } from './timestamp.ts'

export interface StandardWebhooksOptions extends SourceOptions {
  /** Seconds that the signed time may differ from ours. Default 300. */
  tolerance?: number
}

const prefix = 'whsec_'

/**
 * Standard Webhooks, version `v1`: HMAC-SHA256 over `id.timestamp.body` in base64, several signatures separated by
 * spaces, in the headers `webhook-*` or `svix-*`. The secret is base64 with or without `whsec_` before it and with or
 * without padding. The id is the signed header's; the type is the body's `type`.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
export function standardWebhooks(options: StandardWebhooksOptions): Scheme {
  const { tolerance = defaultTolerance } = options
  return createScheme({
    name: 'standard-webhooks',
    options,
    verifier: (secrets) => {
      const keys = secrets.filter((secret) => secret !== 'v1').map(readKey)
      return ({ rawBody, headers, now }) => {
        const { id, timestamp, signatures } = readHeaders(headers)
        if (id === undefined || timestamp === undefined || signatures === undefined)
          return refuse('a webhook- header is missing')
        const expected = keys.map((key) => digestOf('sha256', key, `${id}.${timestamp}.`, rawBody))
        if (!anyEqual(expected, readSignatures(signatures))) return refuse('webhook-signature does not match')
        if (!isCurrent(timestamp, now, tolerance)) return refuse('the signed time is too far from ours')
        const body = readObject(rawBody)
        return 'rejected' in body ? body : identify(id, body.object['type'])
      }
    },
  })
}

/** `v1,whsec_…` is how some dashboards show a secret: split at its comma, the version is left out by the caller. */
function readKey(secret: string): Buffer {
  const text = secret.replace(/^v1,/, '')
  const key = decodeDigest(text.startsWith(prefix) ? text.slice(prefix.length) : text, 'base64')
  if (!key || key.length === 0)
    throw new Error('a secret of Standard Webhooks is base64, with or without whsec_ before it')
  return key
}

function readHeaders(headers: IncomingHttpHeaders) {
  const family =
    headers['webhook-signature'] === undefined && headers['svix-signature'] !== undefined ? 'svix' : 'webhook'
  const read = (name: string): string | undefined => {
    const value = headers[`${family}-${name}`]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return { id: read('id'), timestamp: read('timestamp'), signatures: read('signature') }
}

function readSignatures(header: string): Buffer[] {
  const signatures: Buffer[] = []
  for (const item of header.split(' ')) {
    const signature = item.startsWith('v1,') ? decodeDigest(item.slice(3), 'base64') : undefined
    if (signature) signatures.push(signature)
  }
  return signatures
}
