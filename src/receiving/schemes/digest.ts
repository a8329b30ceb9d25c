import { createHmac } from 'node:crypto'
import { equalBytes } from '../../crypto/tokens.ts'

export type Algorithm = 'sha1' | 'sha256' | 'sha384' | 'sha512'
export type Encoding = 'hex' | 'base64'

const hex = /^(?:[0-9a-f]{2})+$/i
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** A digest as it was sent, in bytes; `undefined` when it is not wholly of that form. Hex digits may be of either case. */
export function decodeDigest(text: string, encoding: Encoding): Buffer | undefined {
  if (!(encoding === 'hex' ? hex : base64).test(text)) return undefined
  return Buffer.from(text, encoding)
}

/** HMAC over the parts, one after the other, as if they were one message. */
export function digestOf(
  algorithm: Algorithm,
  secret: string | Uint8Array,
  ...parts: readonly (string | Uint8Array)[]
): Buffer {
  const mac = createHmac(algorithm, secret)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

/** Whether any of the expected digests is among the received ones; every pair is compared, each in constant time. */
export function anyEqual(expected: readonly Uint8Array[], received: readonly Uint8Array[]): boolean {
  let found = false
  for (const one of expected) for (const other of received) found = equalBytes(one, other) || found
  return found
}
