import { equalBytes } from '../../crypto/constant-time.ts'

export type Encoding = 'hex' | 'base64'

const hex = /^(?:[0-9a-f]{2})+$/i
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** A digest as it was sent, in bytes; `undefined` when it is not wholly of that form. Hex digits may be of either case. */
export function decodeDigest(text: string, encoding: Encoding): Buffer | undefined {
  if (!(encoding === 'hex' ? hex : base64).test(text)) return undefined
  // A last character that alone makes no byte would be passed over.
  if (encoding === 'base64' && text.replace(/=+$/, '').length % 4 === 1) return undefined
  return Buffer.from(text, encoding)
}

/**
 * The place of the first expected digest that is among the received ones, or -1; every pair is compared, each in constant
 * time.
 */
export function findEqual(expected: readonly Uint8Array[], received: readonly Uint8Array[]): number {
  let found = -1
  for (const [index, one] of expected.entries())
    for (const other of received) if (equalBytes(one, other) && found === -1) found = index
  return found
}
