import { Problem } from '../errors.ts'
import { readTimeParameter } from '../paging/time-parameter.ts'
import type { DeliveryStatus } from '../storage/tables.ts'

/** Selects deliveries of a subscriber. All given conditions must hold. */
export interface DeliveryFilter {
  status?: DeliveryStatus
  eventType?: string
  /** Created at this time or later, in milliseconds since 1970. */
  since?: number
  /** Created before this time. */
  until?: number
}

export const deliveryStatuses = [
  'pending',
  'delivered',
  'dead',
  'cancelled',
] as const satisfies readonly DeliveryStatus[]

export interface FilterTexts {
  status?: string | undefined
  eventType?: string | undefined
  since?: string | undefined
  until?: string | undefined
}

/** Reads the filters of a query string and ignores empty ones. @throws Problem `invalid-parameter` with the parameter's name */
export function readDeliveryFilter(texts: FilterTexts): DeliveryFilter {
  const filter: DeliveryFilter = {}
  if (texts.status) {
    const status = deliveryStatuses.find((known) => known === texts.status)
    if (!status) throw invalid('status', `must be one of ${deliveryStatuses.join(', ')}`)
    filter.status = status
  }
  if (texts.eventType) {
    if (texts.eventType.includes('\0') || texts.eventType.length > 256)
      throw invalid('eventType', 'must be an event type')
    filter.eventType = texts.eventType
  }
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}

function invalid(parameter: string, rule: string): Problem {
  return new Problem('invalid-parameter', { parameter, detail: `The parameter \`${parameter}\` ${rule}.` })
}
