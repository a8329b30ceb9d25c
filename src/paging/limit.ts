/** A whole number in decimal digits, as the whole of the text; spaces around it do not count. */
const wholeNumber = /^ *([+-]?\d+) *$/

/** Beyond this `page * limit` would no longer be exact for a limit of 100, the largest there is. */
const highestPage = Math.floor(Number.MAX_SAFE_INTEGER / 100)

/**
 * Reads a `limit` of a query string. Whatever is no whole number (absent, empty, `abc`, `5;drop`, `0x10`, `1e3`, `5.5`)
 * counts as non-numeric and gives the default, and so does zero; everything else is clamped into 1..max. Nothing is an
 * error.
 */
export function readLimit(
  text: string | undefined,
  { default: fallback, max }: { default: number; max: number },
): number {
  const number = readWholeNumber(text)
  if (number === undefined || number === 0) return fallback
  return Math.min(Math.max(number, 1), max)
}

/** Reads a `page` of a query string: 1 when it is no whole number or below 1. Huge ones become the highest page that an offset can be computed for. */
export function readPage(text: string | undefined): number {
  return Math.min(Math.max(readWholeNumber(text) ?? 1, 1), highestPage)
}

function readWholeNumber(text: string | undefined): number | undefined {
  const digits = text === undefined ? undefined : wholeNumber.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
