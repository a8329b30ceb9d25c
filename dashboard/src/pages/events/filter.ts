import { getRouteApi } from '@tanstack/react-router'
import type { EventRow } from '../../api/answers.ts'
import { useSince } from '../../layout/time-range.ts'

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
  const since = useSince()
  return { query: queryOf(chosen, since), key: JSON.stringify([chosen, since]) }
}

/** @param start of the time range */
export function queryOf(chosen: Chosen, start: string): Record<string, string> {
  const query: Record<string, string> = { ...chosen }
  // An id or an order key names few events, whenever they came.
  const named = chosen.eventId !== undefined || chosen.orderKey !== undefined
  if (chosen.since === undefined && chosen.until === undefined && !named) query['since'] = start
  return query
}

export const isBodySearch = ({ text, path }: Chosen): boolean => text !== undefined || path !== undefined

/** The rows without those that came after the one with the id `top`. */
export const notAbove = (rows: readonly EventRow[], top: number | undefined): readonly EventRow[] =>
  top === undefined ? rows : rows.filter(({ id }) => id <= top)
