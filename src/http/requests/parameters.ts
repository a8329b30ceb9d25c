import { invalidBody, Problem } from '../../errors.ts'
import type { App } from '../app.ts'
import { anonymousBodyLimit } from '../body/reader.ts'

// Every form and query is parsed by `readPairs`. Its callers differ in what they make of a repeated parameter and of one without a value:
// - Lists take the first value, and an empty one is a value (`parseQueryString`). Declared lists also have values that repeat, and
//   errors (`listing/parameters.ts`).
// - OAuth and OpenID endpoints reject repeated parameters, and omit those without a value (`readOAuthParameters`).
// - A webhook's repeated field is an array, and an empty value stays (`readFormBody`).

/** Most fields of a form whose sender is not verified yet. Real forms have at most a hundred. */
const mostFields = 1_000
/** Most parameters that lists and other endpoints read of one query string; the rest is ignored. */
const mostParameters = 100
/** Bytes of the query of a redirect: with the other headers it must fit into the 16 KiB that the GET that follows may have. */
const longestQuery = 12 * 1024

type Pair = [name: string, value: string]

/**
 * Reads names and values as `new URLSearchParams` does, in linear time: URLSearchParams takes quadratic time for names without
 * `=` (Node.js 26), and so does getAll() for each name.
 * @param most the rest is not read
 */
export function readPairs(text: string | Uint8Array, most: number): Pair[] {
  // Decoded in place: no decoded text is longer than its escapes.
  const bytes = Buffer.from(text as string)
  const pairs: Pair[] = []
  let [start, end] = [0, 0]
  let name: string | undefined
  const take = (): string => {
    const taken = bytes.toString('utf8', start, end)
    start = end
    return taken
  }
  for (let at = 0; at <= bytes.length && pairs.length < most; at += 1) {
    const byte = at === bytes.length ? ampersand : bytes[at]!
    if (byte === ampersand) {
      if (name === undefined && start === end) continue
      pairs.push(name === undefined ? [take(), ''] : [name, take()])
      name = undefined
    } else if (byte === equals && name === undefined) name = take()
    else {
      const escaped = byte === percent ? (hexValue(bytes[at + 1]) << 4) | hexValue(bytes[at + 2]) : -1
      bytes[end] = escaped >= 0 ? escaped : byte === plus ? space : byte
      if (escaped >= 0) at += 2
      end += 1
    }
  }
  return pairs
}

const [ampersand, equals, percent, plus, space] = [0x26, 0x3d, 0x25, 0x2b, 0x20]

/** The value of a hexadecimal digit's code, or -1. */
function hexValue(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const upper = code & ~0x20
  return upper >= 0x41 && upper <= 0x46 ? upper - 0x37 : -1
}

/** The parameters of a query string, each with its first value. Nothing is an error here: handlers interpret values. */
export function parseQueryString(text: string): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  for (const [name, value] of readPairs(text, mostParameters))
    if (!(name in parameters)) parameters[name] = value
  return parameters
}

/**
 * The fields of a form, or the parameters of a query, in their order.
 * @param most `Infinity` after the sender was verified
 * @throws Problem `bad-request` for more than `most` fields
 */
export function readFields(text: string | Uint8Array, most = mostFields): Pair[] {
  const fields = readPairs(text, most + 1)
  if (fields.length <= most) return fields
  const detail = `The form has more than ${most.toLocaleString('en-US')} fields.`
  throw new Problem('bad-request', { detail, advice: 'Send fewer fields.' })
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

/** The query string of an address as it was sent, without the question mark. */
export function rawQuery(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/**
 * The parameters of an OAuth or OpenID request, in their order. One without a value counts as omitted (RFC 6749, sections 3.1
 * and 3.2): every OAuth and OpenID endpoint reads its query or form through this function.
 * @param text a query string or a form
 * @throws Problem `bad-request` for more than 1,000
 */
export function oauthParameters(text: string | Uint8Array): Pair[] {
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

/**
 * A name in the text of an error. Another site chooses the names of its forms, and an OAuth error has printable ASCII only (RFC 6749,
 * section 5.2).
 */
export function shownName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 40)
}

/** Declares routes that take forms, whose fields are strings. A repeated field is ambiguous, so such a form is rejected. */
export async function withForms(app: App, declare: (routes: App) => void): Promise<void> {
  await app.register(async (routes: App) => {
    acceptForms(routes, (bytes) => {
      const { values, repeated } = readOAuthParameters(bytes)
      const [name] = repeated
      if (name !== undefined)
        throw new Problem('bad-request', { detail: `The field ${shownName(name)} came twice.` })
      return values
    })
    declare(routes)
  })
}

/** Gives handlers the text of a form, and takes nothing else: `resource` may be repeated, so the parameters are not an object. */
export function acceptRawForms(scope: App): void {
  scope.removeContentTypeParser('application/json')
  acceptForms(scope, (bytes) => bytes.toString())
}

function acceptForms(scope: App, read: (bytes: Buffer) => unknown): void {
  scope.bodies.parse(
    scope,
    ['application/x-www-form-urlencoded'],
    (_request, bytes, done) => {
      try {
        done(null, read(bytes))
      } catch (error) {
        done(error as Error)
      }
    },
    anonymousBodyLimit,
  )
}

/**
 * Returns the fields of a form as the query of a redirect to a GET, with which browsers send cookies.
 * @throws Problem `body-too-large` for a query that the GET could not have
 */
export function queryOf(fields: readonly (readonly [string, string])[]): string {
  const query = new URLSearchParams(fields.map(([name, value]) => [name, value])).toString()
  if (query.length > longestQuery)
    throw new Problem('body-too-large', {
      detail: `The fields are longer than ${longestQuery} bytes as a query.`,
    })
  return query
}

/**
 * An address of an app with further parameters. Its own query stays as it is written (RFC 6749, section 3.1.2): the
 * `searchParams` of a URL would rewrite it, `%20` as `+` and `?flag` as `?flag=`.
 * @param uri absolute, without a fragment
 */
export function withQuery(uri: string, parameters: readonly (readonly [string, string])[]): string {
  const { href } = new URL(uri)
  if (parameters.length === 0) return href
  const added = new URLSearchParams(parameters.map(([name, value]) => [name, value])).toString()
  const separator = href.includes('?') ? (/[?&]$/.test(href) ? '' : '&') : '?'
  return href + separator + added
}

/**
 * Runs a function that reads the parameters of a query string on the fields of a body.
 * @throws Problem `invalid-body` with a pointer to the field, where the function throws `invalid-parameter`.
 */
export function readBodyFilters<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { parameter, detail = '' } = error instanceof Problem ? error.extras : {}
    if (parameter === undefined) throw error
    throw invalidBody(`/${parameter}`, detail.replace(`The parameter \`${parameter}\``, `/${parameter}`))
  }
}
