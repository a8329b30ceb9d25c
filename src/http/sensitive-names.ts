/** Parts of names that tell of a credential or a signature, of headers and of fields. */
const sensitive =
  /auth|token|key|secret|cookie|signature|hmac|passw|pwd|credential|session|jwt|(?:^|-)sig(?:$|-)/i
/** Names that look like one and are none. */
const harmless = new Set(['idempotency-key', 'x-idempotency-key', 'x-event-key'])

/** What stands for a value that is not shown. */
export const redactedValue = '[redacted]'

/** Whether a header holds a credential or a signature, by its name in lower case. */
export function isSensitiveHeader(name: string): boolean {
  return sensitive.test(name) && !harmless.has(name)
}
