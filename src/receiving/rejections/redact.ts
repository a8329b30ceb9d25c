import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { isAboutConnection, tellsCredential } from '../kept-headers.ts'

const credential =
  '(?:token|secret|signature|password|passwd|client_?state|api_?key|authorization|credential)'
/** The value may be cut off at the end of what is kept. */
const inJson = new RegExp(
  `("[^"]{0,64}${credential}[^"]{0,64}"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*(?:"|\\\\?$)|-?\\d+)`,
  'gi',
)
const inForm = new RegExp(`((?:^|&)[^=&]{0,64}${credential}[^=&]{0,64}=)[^&]*`, 'gi')

/** The first bytes of a body, without what its field names tell to be credentials or signatures. */
export function redactBody(body: Uint8Array, most: number): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, most))
  // One character per byte: nothing else is changed by going to and fro.
  const text = bytes.toString('latin1')
  const shown = text.replace(inJson, '$1"[removed]"').replace(inForm, '$1[removed]')
  return Buffer.from(shown, 'latin1').subarray(0, most)
}

/** The headers as JSON; of those with credentials or signatures only that they were there, and how long they were. */
export function redactHeaders(headers: IncomingHttpHeaders, signatureHeader?: string): string {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (isAboutConnection(name) || value === undefined) continue
    const text = typeof value === 'string' ? value : value.join(', ')
    shown[name] =
      name === signatureHeader || tellsCredential(name) ? `[removed: ${text.length} characters]` : text
  }
  return JSON.stringify(shown)
}

/** What can be read of the bytes, and whether it is text. */
export function presentBody(body: Uint8Array): { body: string } | { bodyBase64: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return isUtf8(bytes) ? { body: bytes.toString('utf8') } : { bodyBase64: bytes.toString('base64') }
}
