import { timingSafeEqual } from 'node:crypto'

/** Compares byte strings in time that depends only on their lengths, so that timing reveals nothing about a secret. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
