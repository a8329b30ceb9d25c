/** Matches a text that is one decimal number. Spaces around it are allowed: a `+` in a query string is decoded to a space. */
const decimal = /^ *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? *$/

/**
 * Reads a decimal number of a query string: `5`, `-2.7`, `.5`, `1e9`. Returns `undefined` for any other text, including those that
 * Number() or parseInt() accept: the empty text, `5;drop`, `0x10`, `Infinity`. A number beyond the range of a double is ±Infinity,
 * so that callers can clamp it.
 */
export function readDecimal(text: string | undefined): number | undefined {
  return text !== undefined && decimal.test(text) ? Number(text) : undefined
}
