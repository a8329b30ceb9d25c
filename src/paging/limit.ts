import { readDecimal } from './decimal.ts'

/** The highest page for which `page * limit` is exact with the largest `limit`, 100. */
const highestPage = Math.floor(Number.MAX_SAFE_INTEGER / 100)

/**
 * Reads the parameter `limit` and cuts off its fraction. Returns the default for 0 and for a text that is not a number (absent,
 * empty, `abc`, `5;drop`, `0x10`). Any other number is clamped to 1..max. Never throws.
 */
export function readLimit(
  text: string | undefined,
  { default: fallback, max }: { default: number; max: number },
): number {
  const number = Math.trunc(readDecimal(text) ?? 0)
  return number === 0 ? fallback : Math.min(Math.max(number, 1), max)
}

/**
 * Reads the parameter `page` and cuts off its fraction. Returns 1 for a number below 1 and for a text that is not a number. The
 * result is at most the highest page whose offset is exact. Never throws.
 */
export function readPage(text: string | undefined): number {
  return Math.min(Math.max(Math.trunc(readDecimal(text) ?? 1), 1), highestPage)
}
