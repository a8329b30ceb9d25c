/** Most values that are read of one header; the rest is ignored. */
const mostValues = 20

/**
 * The values of a header such as Accept or Accept-Encoding with their weights (RFC 9110, section 12.4.2), in the order of the header.
 * @returns names in lowercase, without parameters; a weight is 1 without `q`, and NaN when it is no number, so that it exceeds nothing
 */
export function weightsOf(header: string): Map<string, number> {
  return new Map(
    header.split(',', mostValues).map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const weight = parameters.find((text) => text.startsWith('q='))?.slice(2)
      return [name, weight === undefined ? 1 : Number(weight)] as const
    }),
  )
}
