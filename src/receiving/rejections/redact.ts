import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { redactText } from '../../events/redact-payload.ts'
import { isSensitiveHeader } from '../../telemetry/redaction.ts'
import { isAboutConnection } from '../endpoint/stored-headers.ts'

/** Names of fields with credentials, signatures, or URLs that need no further authentication. */
const credential =
  /token|secret|signature|passw|client_?state|(?:api|access|private|order|functions|subscription)_?-?key|authorization|credential|response_?url/i

/** Whether a field of this name holds a credential or signature. */
export const isCredentialName = (name: string): boolean => credential.test(name)

const removed = '[removed]'

/** Returns the first bytes of a body, without the values of fields that are credentials or signatures by their names. */
export function redactBody(body: Uint8Array, most: number): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, most))
  // latin1 has one character per byte, so decoding and encoding it preserves all bytes.
  const text = bytes.toString('latin1')
  return Buffer.from(redactText(text, isCredentialName, removed), 'latin1').subarray(0, most)
}

/** Returns the headers as JSON. The values of credentials and signatures are replaced by their lengths. */
export function redactHeaders(headers: IncomingHttpHeaders, signatureHeader?: string): string {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (isAboutConnection(name) || value === undefined) continue
    const text = typeof value === 'string' ? value : value.join(', ')
    shown[name] =
      name === signatureHeader || isSensitiveHeader(name) ? `[removed: ${text.length} characters]` : text
  }
  return JSON.stringify(shown)
}

/** Returns the body as text if it is UTF-8, otherwise as base64. */
export function presentBody(body: Uint8Array): { body: string } | { bodyBase64: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return isUtf8(bytes) ? { body: bytes.toString('utf8') } : { bodyBase64: bytes.toString('base64') }
}
