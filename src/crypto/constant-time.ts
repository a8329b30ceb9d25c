import { timingSafeEqual } from 'node:crypto'

/**
 * Compares two byte strings in a time that depends on their lengths alone, so that the time of an answer tells nothing
 * about a secret.
 */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
