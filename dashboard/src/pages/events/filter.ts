import { getRouteApi } from '@tanstack/react-router'
import type { LiveEvent } from '../../api/live.ts'
import { startOf, useRange, type Range } from '../../layout/time-range.ts'

const route = getRouteApi('/events')

/** The search parameters that select events. */
export const filterNames = [
  'status',
  'type',
  'source',
  'direction',
  'eventId',
  'orderKey',
  'since',
  'until',
] as const
export const bodyNames = ['path', 'value', 'text'] as const

export type FilterName = (typeof filterNames)[number] | (typeof bodyNames)[number]
export type Chosen = Partial<Record<FilterName, string>>

/** What the person chose, from the address. */
export function useChosen(): Chosen {
  const search = route.useSearch()
  const chosen: Chosen = {}
  for (const name of [...filterNames, ...bodyNames]) if (search[name]) chosen[name] = search[name]
  return chosen
}

/** The query of the API for what the person chose, with the time range of the header unless a time is chosen. */
export function useFilterQuery(): { query: Record<string, string>; key: string } {
  const chosen = useChosen()
  const range = useRange()
  return { query: queryOf(chosen, range), key: JSON.stringify([chosen, range]) }
}

function queryOf(chosen: Chosen, range: Range): Record<string, string> {
  const query: Record<string, string> = { ...chosen }
  // An id or an order key names few events, whenever they came.
  const named = chosen.eventId !== undefined || chosen.orderKey !== undefined
  if (chosen.since === undefined && chosen.until === undefined && !named) query['since'] = startOf(range)
  return query
}

export const isBodySearch = ({ text, path }: Chosen): boolean => text !== undefined || path !== undefined

/** Whether an event that just came belongs to the list. Order keys are not in the message, so such lists are read again instead. */
export function matchesFilter(event: LiveEvent, chosen: Chosen): boolean {
  const { status, type, source, direction, eventId, orderKey, until } = chosen
  if (orderKey !== undefined || until !== undefined) return false
  if (status !== undefined && event.status !== status) return false
  if (source !== undefined && event.source !== source) return false
  if (direction !== undefined && event.direction !== direction) return false
  if (eventId !== undefined && event.eventId !== eventId) return false
  if (type === undefined || type === '*') return true
  return type.endsWith('.*') ? event.type.startsWith(type.slice(0, -1)) : event.type === type
}
