import { readDecimal } from './decimal.ts'

/** Beyond this `page * limit` would no longer be exact for a limit of 100, the largest there is. */
const highestPage = Math.floor(Number.MAX_SAFE_INTEGER / 100)

/**
 * Reads a `limit` of a query string as a number, without its fraction. Whatever is none (absent, empty, `abc`, `5;drop`,
 * `0x10`) gives the default, and so does zero; everything else is clamped into 1..max. Nothing is an error.
 */
export function readLimit(
  text: string | undefined,
  { default: fallback, max }: { default: number; max: number },
): number {
  const number = Math.trunc(readDecimal(text) ?? 0)
  return number === 0 ? fallback : Math.min(Math.max(number, 1), max)
}

/**
 * Reads a `page` of a query string as a number, without its fraction: 1 when it is none or below 1. Huge ones become the
 * highest page that an offset can be computed for.
 */
export function readPage(text: string | undefined): number {
  return Math.min(Math.max(Math.trunc(readDecimal(text) ?? 1), 1), highestPage)
}
