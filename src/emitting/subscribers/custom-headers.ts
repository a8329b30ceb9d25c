import { Problem } from '../../errors.ts'
import { isSensitiveHeader, redactedValue } from '../../telemetry/redaction.ts'

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
 * `before`, so that a client can send back what it read. Without a stored value it is refused.
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
  return new Problem('invalid-body', { detail, pointer: '/headers' })
}
