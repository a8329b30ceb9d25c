import { readChoice, readText, readTimeParameter } from '../../paging/filter-parameters.ts'
import type { DeliveryStatus } from '../../storage/tables.ts'

/** Selects deliveries of a subscriber. All given conditions must hold. */
export interface DeliveryFilter {
  status?: DeliveryStatus
  eventType?: string
  /** Created at this time or later, in milliseconds since 1970. */
  since?: number
  /** Created before this time. */
  until?: number
}

export interface DeliverySearch extends DeliveryFilter {
  subscriberId?: string
  /** The owner of the subscriber; null: subscribers without an owner. */
  owner?: string | null
  /** The id that is sent as `webhook-id`. */
  eventId?: string
  responseClass?: ResponseClass
}

export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const satisfies readonly DeliveryStatus[]

/** The response to the newest attempt; `none`: no response came. */
export const responseClasses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const
export type ResponseClass = (typeof responseClasses)[number]

interface FilterTexts {
  status?: string | undefined
  eventType?: string | undefined
  since?: string | undefined
  until?: string | undefined
}

interface SearchTexts extends FilterTexts {
  subscriber?: string | undefined
  owner?: string | undefined
  eventId?: string | undefined
  response?: string | undefined
}

/** Characters of the longest type, id or owner that exists. */
const longestText = 256

/** Reads the filters of a query string and ignores empty ones. @throws Problem `invalid-parameter` with the parameter's name */
export function readDeliveryFilter(texts: FilterTexts): DeliveryFilter {
  const filter: DeliveryFilter = {}
  if (texts.status) filter.status = readChoice(texts.status, 'status', deliveryStatuses)
  if (texts.eventType) filter.eventType = readText(texts.eventType, 'eventType', longestText)
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}

/**
 * The same for the deliveries of all subscribers. An empty `owner` selects the subscribers without an owner.
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readDeliverySearch(texts: SearchTexts): DeliverySearch {
  const search: DeliverySearch = readDeliveryFilter(texts)
  if (texts.subscriber) search.subscriberId = readText(texts.subscriber, 'subscriber', longestText)
  if (texts.owner !== undefined)
    search.owner = texts.owner === '' ? null : readText(texts.owner, 'owner', longestText)
  if (texts.eventId) search.eventId = readText(texts.eventId, 'eventId', longestText)
  if (texts.response) search.responseClass = readChoice(texts.response, 'response', responseClasses)
  return search
}
