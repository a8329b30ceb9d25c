import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

export const ranges = {
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
} as const
export type Range = keyof typeof ranges

const hours: Record<Range, number> = { '1h': 1, '6h': 6, '24h': 24, '7d': 168, '30d': 720 }

export const isRange = (value: unknown): value is Range =>
  typeof value === 'string' && Object.hasOwn(ranges, value)

const root = getRouteApi('__root__')

/** The time range, which all pages with one share. */
export const useRange = (): Range => root.useSearch().range ?? '24h'

/** The start of a range that ends now, as the API takes times. */
export const startOf = (range: Range): string => new Date(Date.now() - hours[range] * 3_600_000).toISOString()

/** The start of the time range. It stays the same while the page is open, because a cursor belongs to the query of its first page. */
export function useSince(): string {
  const range = useRange()
  return useMemo(() => startOf(range), [range])
}
