/**
 * Control characters, which a terminal executes; line separators beyond ASCII, which split a line; and marks that change the
 * direction of text.
 */
// oxlint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** The unsafe characters that JSON leaves as they are. */
const unsafeInJson = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Escapes unsafe characters as JSON does. The result is safe as part of one printed line, and within JSON. */
export function printable(text: string): string {
  return text.replace(unsafe, escapeOf)
}

/** Escapes lines of JSON, and keeps their ends. */
export function printableJson(lines: string): string {
  return lines.replace(unsafeInJson, escapeOf)
}

/** Like printable, but keeps newlines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Parts of the names of headers and fields that contain a credential or a signature. */
const sensitive =
  /auth|token|key|secret|cookie|signature|hmac|passw|pwd|credential|session|jwt|(?:^|-)sig(?:$|-)/i
/** Names that match but are not secret. */
const harmless = new Set(['idempotency-key', 'x-idempotency-key', 'x-event-key'])

/** What stands for a value that is not shown. */
export const redactedValue = '[redacted]'

/** Whether a header holds a credential or a signature, by its name in lower case. */
export function isSensitiveHeader(name: string): boolean {
  return sensitive.test(name) && !harmless.has(name)
}
