import type { IncomingHttpHeaders } from 'node:http'

/** What programs get where a browser gets a page. */
const forPrograms = ['application/json', 'application/problem+json']

/**
 * Whether an answer is for a person: Accept (RFC 9110, section 12.5.1) names HTML and gives it at least the weight of JSON. Browsers
 * name it when they navigate; scripts and programs accept everything or JSON. Of equal weights, what is named first counts.
 */
export function wantsPage({ headers: { accept = '' } }: { headers: IncomingHttpHeaders }): boolean {
  const weights = weightsOf(accept)
  const names = [...weights.keys()]
  const page = weights.get('text/html') ?? 0
  if (!(page > 0)) return false
  return forPrograms.every((type) => {
    const weight = weights.get(type) ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
    const isEarlier = weights.has(type) && names.indexOf(type) < names.indexOf('text/html')
    return !(weight > page || (weight === page && isEarlier))
  })
}

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
