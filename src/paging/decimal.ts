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
export function readDecimal(text: string | undefined): number | undefined {
  if (text === undefined || text.length > longest) return undefined
  const spaceless = text.replaceAll(' ', '')
  return isDecimal(spaceless) && text.includes(spaceless) ? Number(text) : undefined
}
