import { hash } from 'node:crypto'

/** Base64url characters of the hash that a tag shows: 120 bits. */
const length = 20

/**
 * The weak entity tag of an answer: a hash of its content. Weak, since the compressed and the plain form share it
 * (RFC 9110, section 8.8.3).
 */
export function entityTag(body: string | Buffer): string {
  return `W/"${hash('sha256', body, 'base64url').slice(0, length)}"`
}

/** Whether an `If-None-Match` names this tag, by weak comparison, or is `*` (RFC 9110, section 13.1.2). */
export function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = opaqueOf(tag)
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || opaqueOf(one.trim()) === opaque)
}

function opaqueOf(tag: string): string {
  return tag.replace(/^W\//, '')
}
