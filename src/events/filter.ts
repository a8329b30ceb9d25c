import { readChoice, readText, readTimeParameter } from '../paging/filter-parameters.ts'
import type { EventStatus } from './store.ts'
import { optionalText } from '../http/schemas/schemas.ts'

/** Selects events of the log. All given conditions must hold. */
export interface EventFilter {
  status?: EventStatus
  /** A type, or `prefix.*`. */
  type?: string
  source?: string
  direction?: 'received' | 'emitted'
  /** Received or emitted at this time or later, in milliseconds since 1970. */
  since?: number
  /** Received or emitted before this time. */
  until?: number
  /** The stable id of the webhook event. Events of several sources may have the same. */
  eventId?: string
  /** Received events that are handled one after the other. */
  orderKey?: string
}

/** All statuses, with the direction of the events that may have them. */
export const statusDirections: Readonly<Record<EventStatus, 'received' | 'emitted' | undefined>> = {
  pending: undefined,
  retrying: undefined,
  blocked: 'received',
  processed: 'received',
  unhandled: 'received',
  failed: undefined,
  delivered: 'emitted',
  unsubscribed: 'emitted',
}
const statuses = Object.keys(statusDirections) as EventStatus[]
const directions = ['received', 'emitted'] as const

export const filterSchema = {
  status: optionalText(`One of ${statuses.join(', ')}`),
  type: optionalText('Of this type; `order.*` is all that begin with `order.`'),
  source: optionalText('Received from this source'),
  direction: optionalText('`received` or `emitted`'),
  since: optionalText('Of this time or later, ISO 8601'),
  until: optionalText('Before this time, ISO 8601'),
  eventId: optionalText('With this stable id'),
  orderKey: optionalText('Received with this order key'),
}

export type FilterTexts = Partial<Record<keyof typeof filterSchema, string | undefined>>

/**
 * Reads the filters of a query string and ignores empty ones. Returns `undefined` without any filter.
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readEventFilter(texts: FilterTexts): EventFilter | undefined {
  const filter: EventFilter = {}
  if (texts.status) filter.status = readChoice(texts.status, 'status', statuses)
  if (texts.direction) filter.direction = readChoice(texts.direction, 'direction', directions)
  if (texts.type) filter.type = readText(texts.type, 'type')
  if (texts.source) filter.source = readText(texts.source, 'source')
  if (filter.type === '*') delete filter.type
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  if (texts.eventId) filter.eventId = readText(texts.eventId, 'eventId')
  if (texts.orderKey) filter.orderKey = readText(texts.orderKey, 'orderKey')
  return Object.keys(filter).length === 0 ? undefined : filter
}
