import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../errors.ts'
import { groupFields, rawQuery, readFields } from '../../http/requests/parameters.ts'
import { isRawNumber, jsonText, parseExactly } from '../../json/exact.ts'
import {
  type Accepted,
  answerEmpty,
  type Delivery,
  malformed,
  refuse,
  type Rejected,
  type Reply,
  type VerificationResult,
  type Verify,
  type Place,
} from './scheme.ts'

/** The most UTF-16 units of an event's id and of its type. */
const longest = 256

export type JsonObject = Record<string, unknown>

/** Parses the body as JSON, or returns a rejection. Invalid UTF-8 is rejected, not replaced. */
export function readJson(
  rawBody: Uint8Array,
  parse: (text: string) => unknown = JSON.parse,
): { readonly value: unknown } | Rejected {
  if (!isUtf8(rawBody)) return malformed('The body is not valid UTF-8.')
  try {
    return { value: parse(jsonText(rawBody)) }
  } catch (error) {
    if (error instanceof RangeError) return malformed('The body has too many levels.')
    // The parser's message quotes the body, which may contain personal data.
    return malformed('The body is not valid JSON.')
  }
}

export function readObject(rawBody: Uint8Array): { readonly object: JsonObject } | Rejected {
  const read = readJson(rawBody)
  if ('rejected' in read) return read
  return isObject(read.value) ? { object: read.value } : malformed('The body is not a JSON object.')
}

/** Limits of JSON that is parsed before its sender is verified: a few milliseconds for the worst body of 1 MiB. */
const [mostValues, deepest] = [50_000, 100]

/** Like `readObject`, for senders that sign within the body: a body that is not an object has no signature. */
export function readUnverifiedObject(rawBody: Uint8Array): { readonly object: JsonObject } | Rejected {
  if (!isModest(rawBody))
    return malformed(`The body has more than ${mostValues} values, or more than ${deepest} levels.`)
  const body = readObject(rawBody)
  return 'rejected' in body ? refuse(body.detail, 'signature-missing') : body
}

/** Counts values and levels without parsing them. */
function isModest(json: Uint8Array): boolean {
  let [values, depth, inString] = [0, 0, false]
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === quote) inString = !inString
    else if (inString) at += byte === backslash ? 1 : 0
    else if (byte === openBracket || byte === openBrace) {
      depth += 1
      values += 1
    } else if (byte === closeBracket || byte === closeBrace) depth -= 1
    else if (byte === comma) values += 1
    if (values > mostValues || depth > deepest) return false
  }
  return true
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

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

interface Form {
  /** Each name with its values. */
  readonly groups: ReadonlyMap<string, readonly string[]>
  /** Returns the first value of a name. */
  readonly field: (name: string) => string | undefined
}

/** Reads a form, or returns a rejection if it has more fields than are read of an unverified sender. */
export function readForm(rawBody: Buffer): Form | Rejected {
  try {
    const groups = groupFields(readFields(rawBody))
    return { groups, field: (name) => groups.get(name)?.[0] }
  } catch (error) {
    if (error instanceof Problem) return malformed(error.message)
    throw error
  }
}

/** Returns the first value of a parameter in the query of an address. */
export function queryParameter(url: string, name: string): string | undefined {
  return readFields(rawQuery(url), Infinity).find(([parameter]) => parameter === name)?.[1]
}

type BodyKind = 'json' | 'form' | 'other'

/**
 * What a body is, by its bytes alone: signatures cover the bytes and not `Content-Type`, so that header must not decide how the
 * bytes are read. Objects and arrays are JSON. A form begins with a name in visible ASCII and `=`.
 */
export function kindOf(body: Uint8Array): BodyKind {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
  while (at < body.length && isSpace(body[at]!)) at += 1
  if (body[at] === 0x7b || body[at] === 0x5b) return 'json'
  for (let end = at; end < body.length; end += 1) {
    const byte = body[end]!
    if (byte === 0x3d) return end > at ? 'form' : 'other'
    if (byte <= 0x20 || byte >= 0x7f || neverInNames.has(byte)) return 'other'
  }
  return 'other'
}

const neverInNames: ReadonlySet<number> = new Set(Buffer.from('<>"{}'))

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
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

/** The digest of an object, or of an array of objects, without the field that retries change. */
export function digestWithout(value: unknown, field: string): string {
  const lasting = (one: unknown): unknown => {
    if (!isObject(one)) return one
    const { [field]: _, ...rest } = one
    return rest
  }
  return bodyDigest(JSON.stringify(Array.isArray(value) ? value.map(lasting) : lasting(value)))
}

/**
 * Returns the value at a path of a parsed body. An integer is returned as its digits, all of them however it is written: `1e3` is
 * 1000. Other numbers are returned unchanged.
 */
function textAt(value: unknown, path: string, rawBody: Uint8Array): unknown {
  const found = valueAt(value, path)
  if (typeof found !== 'number') return found
  // A double may have lost digits, so the text is read again, unless it has too many levels for the stack.
  const again = readJson(rawBody, parseExactly)
  if ('rejected' in again) return Number.isSafeInteger(found) ? String(found) : found
  const exact = valueAt(again.value, path)
  const isRaw = typeof exact === 'object' && exact !== null && isRawNumber(exact)
  return integerDigits(isRaw ? exact.rawJSON : String(exact)) ?? found
}

/** The digits of a JSON number that is an integer. The exponent has three digits at most, because ids are short. */
function integerDigits(number: string): string | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(number)
  if (!parts) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const places = Number(exponent) - fraction.length
  const digits = whole + fraction + '0'.repeat(Math.max(0, places))
  const end = digits.length + Math.min(0, places)
  if (/[^0]/.test(digits.slice(Math.max(0, end)))) return undefined
  const shown = digits.slice(0, Math.max(0, end)).replace(/^0+/, '')
  return shown === '' ? '0' : sign + shown
}

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

/** The most events of one request: as many as Azure Event Grid sends. */
const mostEvents = 5_000

/** Makes an event of each item of a batch, with a body of its own. Their numbers keep their digits if they were parsed exactly. */
export function eventsOf(
  items: readonly unknown[],
  read: (item: unknown) => Accepted | Rejected,
): VerificationResult {
  if (items.length > mostEvents) return malformed(`The body has more than ${mostEvents} events.`)
  const events: Accepted[] = []
  for (const item of items) {
    const event = read(item)
    if ('rejected' in event) return event
    const content = event.content ?? { bytes: Buffer.from(JSON.stringify(item)), type: json }
    events.push({ ...event, content })
  }
  const [first, ...others] = events
  return first ? { ...first, ...(others.length > 0 && { others }) } : answerEmpty()
}

/** For senders that sign the body but not the header with the event's id. */
export interface UnsignedIdOptions {
  /**
   * `digest`: the id is the digest of the signed body, so a recorded request that is replayed under another id is a
   * duplicate. Two events with equal bodies are duplicates as well. Default: the sender's header.
   */
  id?: 'digest'
}

/** An id that the sender repeats for other bodies, with the body's digest; the digest alone if there is no id. */
export function withDigest(id: string | undefined, rawBody: Uint8Array): string {
  return id === undefined ? bodyDigest(rawBody) : `${id}:${bodyDigest(rawBody)}`
}

/** For senders whose events have their id and type at places that the source declares. */
export interface PlacedOptions {
  /**
   * The place of the event's id; `digest` uses the SHA-256 of the body. Default: `id` in the body. An id in a header that is
   * not signed detects retries, but an attacker who replays a request can change it.
   */
  id?: Place | 'digest'
  /** The place of the event's type, or a constant type for all events of the source. Default: the body's `type`. */
  type?: Place | { always: string }
  /**
   * Accepted media types, such as `application/xml`. Default: JSON. An empty array accepts every type. Bodies of these types
   * are stored as bytes.
   */
  mediaTypes?: readonly string[]
}

/** Makes the reader of a verified delivery. */
export function placedReader(options: PlacedOptions): (delivery: Delivery) => VerificationResult {
  const { id = specifiedId, type = specifiedType, mediaTypes } = options
  const paths = [id, type].flatMap((place) =>
    typeof place === 'object' && 'body' in place ? [place.body] : [],
  )
  const readsBody = paths.length > 0 || mediaTypes === undefined
  // A path such as `0.id` leads into an array.
  const readsArray = paths.every((path) => /^\d/.test(path))
  return (delivery) => {
    const body = readsBody ? readJson(delivery.rawBody) : { value: undefined }
    if ('rejected' in body) return body
    if (paths.length > 0 && !isObject(body.value) && !(Array.isArray(body.value) && readsArray))
      return malformed('The body is not a JSON object.')
    const eventId = id === 'digest' ? bodyDigest(delivery.rawBody) : find(id, delivery, body.value)
    return identify(eventId, 'always' in type ? type.always : find(type, delivery, body.value))
  }
}

const specifiedId: Place = { body: 'id' }
const specifiedType: Place = { body: 'type' }

/** Returns the value at a place, or undefined. */
export function find(place: Place, { headers, rawBody }: Delivery, body: unknown): unknown {
  if ('header' in place) return headerOf(headers, place.header.toLowerCase())
  // The default fields must be strings. Integers are accepted at other places.
  return place === specifiedId || place === specifiedType
    ? valueAt(body, place.body)
    : textAt(body, place.body, rawBody)
}
