import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { malformed } from './results.ts'
import type { Accepted, Delivery, Rejected, Reply, VerificationResult, Verify } from './scheme.ts'

/** The most UTF-16 units of an event's id and of its type. */
const longest = 256

export type JsonObject = Record<string, unknown>

/** Parses the body as JSON, or returns a rejection. Invalid UTF-8 is refused, not replaced. */
export function readJson(rawBody: Uint8Array): { readonly value: unknown } | Rejected {
  if (!isUtf8(rawBody)) return malformed('The body is not valid UTF-8.')
  try {
    return {
      value: JSON.parse(Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength).toString('utf8')),
    }
  } catch {
    // The parser's message quotes the body, which may contain personal data.
    return malformed('The body is not valid JSON.')
  }
}

/** Parses the body as a JSON object, or returns a rejection. */
export function readObject(rawBody: Uint8Array): { readonly object: JsonObject } | Rejected {
  const read = readJson(rawBody)
  if ('rejected' in read) return read
  return isObject(read.value) ? { object: read.value } : malformed('The body is not a JSON object.')
}

/** Makes a `verify` that reads events from JSON objects and refuses other bodies. */
export function fromObject(read: (body: JsonObject, delivery: Delivery) => VerificationResult): Verify {
  return (delivery) => {
    const body = readObject(delivery.rawBody)
    return 'rejected' in body ? body : read(body.object, delivery)
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value at a path such as `data.items.0.id`. Only own properties count, not those of prototypes. */
export function valueAt(value: unknown, path: string): unknown {
  let found = value
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as JsonObject)[name]
  }
  return found
}

/** The fields of a form body. A repeated name has several entries. */
export function readForm(rawBody: Buffer): URLSearchParams {
  return new URLSearchParams(rawBody.toString('utf8'))
}

/** Whether the media type is `type`, regardless of its parameters. */
export function hasMediaType(headers: IncomingHttpHeaders, type: string): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type
}

export const form = 'application/x-www-form-urlencoded'
export const json = 'application/json'

/** Returns a header's value if it occurs once and is not empty. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The id of an event whose sender provides none: equal bodies are the same event. */
export function bodyDigest(rawBody: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(rawBody).digest('hex')}`
}

/** Returns an integer that JSON.parse preserved as a string, and other values unchanged. */
export function textOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? String(value) : value
}

/** Returns `kind.action`, or `kind` if there is no action. */
export function kindAndAction(kind: unknown, action: unknown): unknown {
  return typeof kind === 'string' && kind !== '' && typeof action === 'string' && action !== ''
    ? `${kind}.${action}`
    : kind
}

/**
 * Validates an id and a type. They are keys in the database, so they must be texts that both engines can store: without NUL
 * (PostgreSQL) and without lone surrogates (UTF-8 cannot encode them).
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
