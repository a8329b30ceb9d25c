import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A new bearer secret: 256 random bits as 43 characters of base64url, with an optional prefix that tells its kind. */
export function newToken(prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url')
}

/**
 * What is stored instead of a bearer secret. A plain SHA-256 is enough: the secret has 256 bits of entropy,
 * so there is nothing to guess and no need for a slow hash.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Compares two byte strings in a time that depends on their lengths alone. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
