import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import {
  malformed,
  type Accepted,
  type Delivery,
  type Rejected,
  type Reply,
  type VerificationResult,
  type Verify,
} from './scheme.ts'

/** Most characters (UTF-16 units) of an event's id and of its type. */
const longest = 256

export type JsonObject = Record<string, unknown>

/** The body as a JSON value, or why it is none. The bytes are checked strictly: broken UTF-8 is not replaced. */
export function readJson(rawBody: Uint8Array): { readonly value: unknown } | Rejected {
  if (!isUtf8(rawBody)) return malformed('The body is not valid UTF-8.')
  try {
    return {
      value: JSON.parse(Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength).toString('utf8')),
    }
  } catch {
    // The parser's message quotes the body, which is nobody's but the sender's.
    return malformed('The body is not valid JSON.')
  }
}

/** The body as a JSON object, or why it is none. */
export function readObject(rawBody: Uint8Array): { readonly object: JsonObject } | Rejected {
  const read = readJson(rawBody)
  if ('rejected' in read) return read
  return isObject(read.value) ? { object: read.value } : malformed('The body is not a JSON object.')
}

/** Reads an event from a JSON object; another body is refused. */
export function fromObject(read: (body: JsonObject, delivery: Delivery) => VerificationResult): Verify {
  return (delivery) => {
    const body = readObject(delivery.rawBody)
    return 'rejected' in body ? body : read(body.object, delivery)
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path such as `data.items.0.id`; only what the JSON itself has, never what its prototype has. */
export function valueAt(value: unknown, path: string): unknown {
  let found = value
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as JsonObject)[name]
  }
  return found
}

/** The fields of a form body; a name that comes several times has several entries. */
export function readForm(rawBody: Buffer): URLSearchParams {
  return new URLSearchParams(rawBody.toString('utf8'))
}

/** Whether the media type is `type`, whatever its parameters. */
export function hasMediaType(headers: IncomingHttpHeaders, type: string): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type
}

export const form = 'application/x-www-form-urlencoded'
export const json = 'application/json'

/** A header's value when it is there once and is not empty. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The id of an event that its sender gives none: the same bytes are the same event. */
export function bodyDigest(rawBody: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(rawBody).digest('hex')}`
}

/** A text for an id or a type: a string as it is, and an integer that JSON's reader did not change. */
export function textOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? String(value) : value
}

/** `kind`, followed by `.action` where there is one. */
export function kindAndAction(kind: unknown, action: unknown): unknown {
  return typeof kind === 'string' && kind !== '' && typeof action === 'string' && action !== ''
    ? `${kind}.${action}`
    : kind
}

/**
 * Checks an id and a type. They become keys and are matched by handlers, so they must be texts that every engine can
 * store: neither NUL (PostgreSQL) nor half a surrogate pair (UTF-8 has no form for it).
 */
export function identify(id: unknown, type: unknown, reply?: Reply): Accepted | Rejected {
  const fault = faultOf('id', id) ?? faultOf('type', type)
  return fault === undefined
    ? { id: id as string, type: type as string, ...(reply && { reply }) }
    : malformed(fault)
}

function faultOf(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return `The event has no \`${name}\` that is a string.`
  if (value === '') return `The event's \`${name}\` is empty.`
  if (value.length > longest) return `The event's \`${name}\` is longer than ${longest} characters.`
  if (value.includes('\0') || !value.isWellFormed())
    return `The event's \`${name}\` holds a character that cannot be stored.`
  return undefined
}
