import { Problem } from '../../errors.ts'

/** Most parameters that are read of one query string; the rest is ignored. */
const mostParameters = 100

/**
 * Parses a query string. A repeated parameter counts once, with its first value, so that every value is a string; a
 * broken percent sequence stays as it was written. Nothing is an error here: handlers interpret values.
 */
export function parseQueryString(text: string): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  for (const part of text.split('&', mostParameters)) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals < 0 ? part : part.slice(0, equals))
    if (!(name in parameters)) parameters[name] = equals < 0 ? '' : decode(part.slice(equals + 1))
  }
  return parameters
}

/** Most fields of a form whose sender is not verified yet. Real forms have at most a hundred. */
export const mostFields = 1_000

/**
 * Reads the fields of a form as `new URLSearchParams` does, in linear time: URLSearchParams takes quadratic time for names without
 * `=` (Node.js 26), and so does getAll() for each name.
 * @param most `Infinity` after the sender was verified
 * @throws Problem `bad-request` for more than `most` fields
 */
export function readFields(form: string | Uint8Array, most = mostFields): [name: string, value: string][] {
  // Decoded in place: no decoded text is longer than its escapes.
  const bytes = Buffer.from(form as string)
  const fields: [string, string][] = []
  let [start, end] = [0, 0]
  let name: string | undefined
  const take = (): string => {
    const text = bytes.toString('utf8', start, end)
    start = end
    return text
  }
  for (let at = 0; at <= bytes.length; at += 1) {
    const byte = at === bytes.length ? ampersand : bytes[at]!
    if (byte === ampersand) {
      if (name === undefined && start === end) continue
      if (fields.length === most) throw tooManyFields(most)
      fields.push(name === undefined ? [take(), ''] : [name, take()])
      name = undefined
    } else if (byte === equals && name === undefined) name = take()
    else {
      const escaped = byte === percent ? (hexValue(bytes[at + 1]) << 4) | hexValue(bytes[at + 2]) : -1
      bytes[end] = escaped >= 0 ? escaped : byte === plus ? space : byte
      if (escaped >= 0) at += 2
      end += 1
    }
  }
  return fields
}

const [ampersand, equals, percent, plus, space] = [0x26, 0x3d, 0x25, 0x2b, 0x20]

/** The value of a hexadecimal digit's code, or -1. */
function hexValue(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const upper = code & ~0x20
  return upper >= 0x41 && upper <= 0x46 ? upper - 0x37 : -1
}

function tooManyFields(most: number): Problem {
  const detail = `The form has more than ${most.toLocaleString('en-US')} fields.`
  return new Problem('bad-request', { detail, advice: 'Send fewer fields.' })
}

/** Returns the values of each name, in the order of the form. */
export function groupFields(fields: Iterable<readonly [string, string]>): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const [name, value] of fields) {
    const values = groups.get(name)
    if (values) values.push(value)
    else groups.set(name, [value])
  }
  return groups
}

/** Reads the form of a verified sender. A repeated field has an array. The object has no prototype. */
export function readFormBody(form: string | Uint8Array): Record<string, string | string[]> {
  const body: Record<string, string | string[]> = Object.create(null)
  for (const [name, values] of groupFields(readFields(form, Infinity)))
    body[name] = values.length === 1 ? values[0]! : values
  return body
}

/** Whether a content type is that of forms, regardless of its parameters. */
export function isForm(contentType: string): boolean {
  return contentType.split(';', 1)[0]!.trim().toLowerCase() === 'application/x-www-form-urlencoded'
}

/** The query string of a request as it was sent, without the question mark. */
export function rawQuery(url: string): string {
  return url.split('?').slice(1).join('?')
}

/**
 * The parameters of an OAuth or OpenID request, in their order. One without a value counts as omitted (RFC 6749, sections 3.1
 * and 3.2): every OAuth and OpenID endpoint reads its query or form through this function.
 * @param text a query string or a form
 * @throws Problem `bad-request` for more than 1,000
 */
export function oauthParameters(text: string | Uint8Array): [name: string, value: string][] {
  return readFields(text).filter(([, value]) => value !== '')
}

/**
 * Reads parameters of OAuth, which must not be repeated (RFC 6749, section 3.1): two readers of one request could take different
 * ones. Only `resource` may be; its values come separated by spaces.
 * @param text a query string or a form
 * @param names the parameters that are read; without it, all
 * @returns the first value of each, and the names that came more than once
 * @throws Problem `bad-request` for too many fields
 */
export function readOAuthParameters<Name extends string = string>(
  text: string | Uint8Array,
  names?: readonly Name[],
): { values: Partial<Record<Name, string>>; repeated: Name[] } {
  const values = Object.create(null) as Partial<Record<Name, string>>
  const repeated: Name[] = []
  for (const [given, value] of oauthParameters(text)) {
    const name = given as Name
    if (names && !names.includes(name)) continue
    if (!(name in values)) values[name] = value
    // RFC 8707, section 2: an app may ask for several APIs. Names of APIs are URIs, which contain no space.
    else if (given === 'resource') values[name] += ` ${value}`
    else repeated.push(name)
  }
  return { values, repeated }
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
