/** A decimal number as the whole of the text; spaces around it do not count, and a `+` in an address is a space. */
const decimal = /^ *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? *$/

/**
 * Reads a number of a query string: `5`, `-2.7`, `.5`, `1e9`. `undefined` for what is none, for which Number() and
 * parseInt() have ideas of their own: the empty text, `5;drop`, `0x10`, `Infinity`. Beyond what a double holds it is
 * plus or minus Infinity, which is to be clamped and not to be taken for no number.
 */
export function readDecimal(text: string | undefined): number | undefined {
  return text !== undefined && decimal.test(text) ? Number(text) : undefined
}
