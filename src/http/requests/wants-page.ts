import type { IncomingHttpHeaders } from 'node:http'
import { weightsOf } from './weights.ts'

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
