/** A request of the subscriber in its response. */
export type Directive = 'disable' | 'abort-message'

/**
 * Reads the `webhook-delivery` header of a response, as Svix defines it (https://docs.svix.com/receiving/delivery-control):
 * `disable` disables the subscriber, `abort-message` ends the attempts of this delivery. Other values are ignored.
 */
export function readDirective(header: string | string[] | undefined): Directive | undefined {
  if (header === undefined) return undefined
  const wanted = [header].flat().join(',').toLowerCase().split(',')
  const values = new Set(wanted.map((value) => value.trim()))
  if (values.has('disable')) return 'disable'
  return values.has('abort-message') ? 'abort-message' : undefined
}
