import { equalBytes } from '../../crypto/constant-time.ts'

export type Encoding = 'hex' | 'base64'

const hex = /^(?:[0-9a-f]{2})+$/i
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Decodes a digest; hex digits may be of either case. Returns `undefined` for texts that are not of that form. */
export function decodeDigest(text: string, encoding: Encoding): Buffer | undefined {
  if (!(encoding === 'hex' ? hex : base64).test(text)) return undefined
  // Buffer.from would ignore a last character that does not complete a byte.
  if (encoding === 'base64' && text.replace(/={1,2}$/, '').length % 4 === 1) return undefined
  return Buffer.from(text, encoding)
}

/** Returns the index of the first expected digest that was received, or -1. All pairs are compared, each in constant time. */
export function findEqual(expected: readonly Uint8Array[], received: readonly Uint8Array[]): number {
  let found = -1
  for (const [index, one] of expected.entries())
    for (const other of received) if (equalBytes(one, other) && found === -1) found = index
  return found
}
