import { createPublicKey, verify, type KeyObject } from 'node:crypto'

/** The DER prefix of an ed25519 public key (RFC 8410, section 4). */
const derPrefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Makes an ed25519 public key from its 32 bytes. @throws TypeError for any other length. */
export function ed25519Key(bytes: Uint8Array): KeyObject {
  if (bytes.length !== 32) throw new TypeError('an ed25519 public key has 32 bytes')
  return createPublicKey({ key: Buffer.concat([derPrefix, bytes]), format: 'der', type: 'spki' })
}

/** Whether the key's private half made one of the signatures over the message (RFC 8032). */
export function isSignedBy(
  key: KeyObject,
  message: Uint8Array,
  signatures: readonly (Uint8Array | undefined)[],
): boolean {
  return signatures.some((signature) => signature?.length === 64 && verify(null, message, key, signature))
}
