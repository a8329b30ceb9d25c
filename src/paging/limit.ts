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

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Characters. Longer texts are not numbers. */
const longest = 400

/** Whether a text is one decimal number: `5`, `-2.7`, `.5`, `1e9`. */
export function isDecimal(text: string): boolean {
  return text.length <= longest && decimal.test(text)
}

/**
 * Reads a decimal number of a query string. Spaces around it are allowed: a `+` is decoded to a space. Returns `undefined` for any other text, including those that
 * Number() or parseInt() accept: the empty text, `5;drop`, `0x10`, `Infinity`. A number beyond the range of a double is ±Infinity,
 * so that callers can clamp it.
 */
function readDecimal(text: string | undefined): number | undefined {
  if (text === undefined || text.length > longest) return undefined
  const spaceless = text.replaceAll(' ', '')
  return isDecimal(spaceless) && text.includes(spaceless) ? Number(text) : undefined
}
