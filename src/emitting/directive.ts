/** What a subscriber can ask for in its answer. */
export type Directive = 'disable' | 'abort-message'

/**
 * Reads the `webhook-delivery` header of an answer, as Svix defines it (https://docs.svix.com/receiving/delivery-control):
 * `disable` ends all deliveries to the subscriber, `abort-message` the attempts of this one. Other values mean nothing.
 */
export function readDirective(header: string | string[] | undefined): Directive | undefined {
  if (header === undefined) return undefined
  const wanted = [header].flat().join(',').toLowerCase().split(',')
  const values = new Set(wanted.map((value) => value.trim()))
  if (values.has('disable')) return 'disable'
  return values.has('abort-message') ? 'abort-message' : undefined
}
