import { hash, randomBytes } from 'node:crypto'

/** Returns a new bearer secret: 256 random bits as 43 characters of base64url, behind a prefix that shows its kind. */
export function newToken(prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url')
}

/** Returns the stored hash of a bearer secret. SHA-256 is enough: nobody can guess 256 random bits, even with a fast hash. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The S256 challenge of a verifier (RFC 7636, section 4.6). */
export function codeChallenge(verifier: string): string {
  return hash('sha256', verifier, 'base64url')
}
