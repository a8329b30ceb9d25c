import { type Static, type TObject, Type } from 'typebox'
import { nullable } from '../../http/schemas/schemas.ts'
import type { Settings } from './destinations.ts'
import { invalidBody, type Problem } from '../../errors.ts'
import { isSensitiveHeader, redactedValue } from '../../telemetry/printable.ts'

export const methods = ['POST', 'PUT', 'PATCH'] as const

const Statuses = Type.Array(
  Type.Union([Type.Integer({ minimum: 200, maximum: 599 }), Type.String({ pattern: '^[2-5]xx$' })]),
  { minItems: 1, maxItems: 50, description: 'Such as `[202, 409, "3xx"]`' },
)

/** Settings of a subscriber about its requests and their responses. */
export const requestOptions = {
  method: Type.Optional(Type.Enum(methods, { description: 'Default: POST' })),
  successStatuses: Type.Optional(nullable(Statuses, 'The only statuses of a success. Default: 2xx')),
  noRetryStatuses: Type.Optional(
    nullable(Statuses, 'Statuses after which no further attempt follows. Default: 410'),
  ),
  gzip: Type.Optional(
    Type.Boolean({ description: 'Compress bodies. The signature is of the body before that' }),
  ),
  signatureHeaders: Type.Optional(
    Type.Enum(['webhook', 'svix', 'both'], {
      description:
        'webhook: `webhook-id`, `webhook-timestamp` and `webhook-signature`. svix: the same values as `svix-…`. both: all six. Default: webhook',
    }),
  ),
  body: Type.Optional(
    Type.Enum(['event', 'data'], {
      description: 'event: `{id, type, timestamp, data}`. data: only the data. Default: event',
    }),
  ),
}

/** All keys are optional, also with the value `undefined`. */
export type Given<T> = { [K in keyof T]?: T[K] | undefined }

/** `settings`: of a destination, which has no other options. */
type StoredOptions = Static<TObject<typeof requestOptions>> & { settings?: Settings }
export type RequestOptions = Given<StoredOptions>

/** What a subscriber has of those options that are not stored. */
export const requestDefaults: Required<Static<TObject<typeof requestOptions>>> = {
  method: 'POST',
  successStatuses: null,
  noRetryStatuses: null,
  gzip: false,
  signatureHeaders: 'webhook',
  body: 'event',
}

/** The column: JSON of what is not the default. Options that are not given stay as they are. */
export function writeRequestOptions(given: RequestOptions, before: string | null): string | null {
  const all: Record<string, unknown> = readRequestOptions(before)
  for (const [name, usual] of Object.entries(requestDefaults)) {
    const value = given[name as keyof typeof requestDefaults]
    if (value === usual) delete all[name]
    else if (value !== undefined) all[name] = value
  }
  return Object.keys(all).length === 0 ? null : JSON.stringify(all)
}

export function readRequestOptions(column: string | null): StoredOptions {
  return column === null ? {} : (JSON.parse(column) as StoredOptions)
}

const most = 20
const longestValue = 4096
/** A token (RFC 9110, section 5.6.2). */
const name = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
/** Visible ASCII and inner spaces: no character could end the header or the request. */
const value = /^[!-~]([\t -~]*[!-~])?$/

/** Headers of the connection, the body and the signature. */
const ours = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'date',
  'user-agent',
  'accept-encoding',
  'http2-settings',
  'signature',
  'signature-input',
])
const ourPrefixes = ['content-', 'webhook-', 'svix-', 'proxy-', 'sec-', ':']

/**
 * Validates the custom headers of a subscriber and converts names to lowercase. The value `[redacted]` selects the stored value in
 * `before`, so that a client can send back what it read. If there is no stored value, it is an error.
 * @throws Problem `invalid-body`
 */
export function readCustomHeaders(
  given: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const entries = Object.entries(given)
  if (entries.length > most) throw invalid(`A subscriber can have at most ${most} headers.`)
  const headers: Record<string, string> = {}
  for (const [given, text] of entries) {
    const header = given.toLowerCase()
    if (!name.test(header) || header === '__proto__')
      throw invalid('A header has a name that HTTP does not allow.')
    if (ours.has(header) || ourPrefixes.some((prefix) => header.startsWith(prefix)))
      throw invalid(`The header ${header} cannot be set: it belongs to the request itself.`)
    if (Object.hasOwn(headers, header)) throw invalid(`The header ${header} is given twice.`)
    const stored = Object.hasOwn(before, header) ? before[header] : undefined
    const effective = text === redactedValue ? stored : text
    if (effective === undefined)
      throw invalid(
        `The value of the header ${header} must be sent: ${redactedValue} selects the stored value, and no value is stored for this address.`,
      )
    if (!value.test(effective) || effective.length > longestValue)
      throw invalid(
        `The value of the header ${header} must be 1 to ${longestValue} visible ASCII characters.`,
      )
    headers[header] = effective
  }
  return headers
}

/** Returns the headers for responses: values are redacted if the name suggests a credential. */
export function showCustomHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([header, text]) => [
      header,
      isSensitiveHeader(header) ? redactedValue : text,
    ]),
  )
}

function invalid(detail: string): Problem {
  return invalidBody('/headers', detail)
}
