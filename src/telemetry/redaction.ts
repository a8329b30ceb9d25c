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
