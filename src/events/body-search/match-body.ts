import { isForm, readFormBody } from '../../http/requests/query-string.ts'
import { redactPayload } from '../redact-payload.ts'
import { readStoredHeaders } from '../verification.ts'
import { plainText, type BodyQuery } from './body-query.ts'

export interface StoredBody {
  contentType: string
  /** The stored headers, as JSON. */
  headers: string | null
  payload: Uint8Array
}

/** Characters around a text, and of a value, that a match shows. */
const around = 60
const longestValue = 200

/**
 * Whether a body is what the query asks for. It sees the body as readers see it: credentials are redacted and do not match.
 * Returns an excerpt that shows why it matches; undefined if it does not.
 */
export function matchBody(
  query: BodyQuery,
  { contentType, headers, payload }: StoredBody,
): string | undefined {
  const { verification } = readStoredHeaders(headers)
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const shown = redactPayload(bytes, verification?.scheme)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  let parsed: unknown
  const parse = (): unknown => (parsed ??= parseBody(shown, contentType))
  let excerpt = ''
  if (query.text !== undefined) {
    const found = findText(query.text, shown, parse)
    if (found === undefined) return undefined
    excerpt = found
  }
  if (query.path !== undefined) {
    const found = findField(parse(), query.path, query.value)
    if (found === undefined) return undefined
    excerpt = `${query.path.join('.')}: ${found.slice(0, longestValue)}`
  }
  return excerpt.toWellFormed()
}

function parseBody(text: string, contentType: string): unknown {
  return isForm(contentType) ? readFormBody(text) : parseJson(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function findText(text: string, shown: string, parse: () => unknown): string | undefined {
  const at = shown.indexOf(text)
  if (at !== -1) return cut(shown, at, text.length)
  // The body may spell other characters with escapes.
  return plainText.test(text) ? undefined : findInStrings(parse(), text)
}

function cut(text: string, at: number, length: number): string {
  const from = Math.max(0, at - around)
  const to = at + length + around
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}

/** The first string or name of a value that contains the text. Uses no recursion, because the sender chooses the depth. */
function findInStrings(root: unknown, text: string): string | undefined {
  const open: unknown[] = [root]
  for (let value = open.pop(); value !== undefined || open.length > 0; value = open.pop()) {
    if (typeof value === 'string' && value.includes(text)) return cut(value, value.indexOf(text), text.length)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) open.push(inner, name)
  }
  return undefined
}

/** The text of a field's value, if one matches. Arrays without a number in the path match by any of their elements. */
function findField(root: unknown, path: readonly string[], value: string | undefined): string | undefined {
  let here: unknown[] = [root]
  for (const name of path) here = here.flatMap((one) => fieldsOf(one, name))
  const found = here.find((one) => value === undefined || isValue(one, value))
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

function fieldsOf(value: unknown, name: string): unknown[] {
  // A form may have a field that contains JSON.
  const outer = typeof value === 'string' && /^\s*[[{]/.test(value) ? parseJson(value) : value
  if (typeof outer !== 'object' || outer === null) return []
  if (Object.hasOwn(outer, name)) return [(outer as Record<string, unknown>)[name]]
  return Array.isArray(outer) ? outer.flatMap((element) => ownField(element, name)) : []
}

function ownField(value: unknown, name: string): unknown[] {
  const has = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return has ? [(value as Record<string, unknown>)[name]] : []
}

function isValue(found: unknown, value: string): boolean {
  if (typeof found === 'string') return found === value
  if (typeof found === 'number') return value.trim() !== '' && Number(value) === found
  return String(found) === value && typeof found !== 'object'
    ? true
    : found === null
      ? value === 'null'
      : false
}
