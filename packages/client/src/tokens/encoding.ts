/** The bytes of a base64url text without padding (RFC 4648, section 5). @throws for other texts. */
export function bytesOfBase64url(text: string): Uint8Array<ArrayBuffer> {
  return bytesOfBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}

/** The bytes of a base64 text. @throws for other texts. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
}

export function base64urlOf(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes))
  return base64
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '')
}

const encoder = new TextEncoder()
export const bytesOfText = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The JSON object in a part of a JWT. @throws for a text without one. */
export function objectOfPart(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(decoder.decode(bytesOfBase64url(part)))
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new TypeError('no JSON object')
}
