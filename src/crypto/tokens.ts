import { createHash, randomBytes } from 'node:crypto'

/** A new bearer secret: 256 random bits as 43 characters of base64url, with an optional prefix that tells its kind. */
export function newToken(prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url')
}

/**
 * The hash that is stored instead of a bearer secret. A plain SHA-256 is enough: a secret with 256 bits of entropy cannot be
 * guessed, so a slow hash is not needed.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
