import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { AnswerOf, RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import type { Range } from '../../layout/time-range.ts'

export type History = AnswerOf<'GET /metrics/history'>
export type Series = NonNullable<History['series']['webhooks']>
export type AttentionItem = RowOf<'GET /attention'>

/** What happened within the range. */
export const useHistory = (range: Range) =>
  useQuery({
    queryKey: ['metrics', 'history', range],
    queryFn: ({ signal }) => api.get('/metrics/history', { query: { range }, signal }),
    placeholderData: keepPreviousData,
  })

export const useAttention = () =>
  useQuery({
    queryKey: ['attention'],
    queryFn: ({ signal }) => api.get('/attention', { signal }),
  })

/** The first steps. */
export const useChecklist = () =>
  useQuery({
    queryKey: ['checklist'],
    queryFn: ({ signal }) => api.get('/checklist', { signal }),
  })

const none: Series = {
  total: { ok: 0, failed: 0, duplicates: 0, p50: null, p99: null },
  ok: [],
  failed: [],
  duplicates: [],
  p50: [],
  p99: [],
}

/** A series of an answer; an empty one while nothing is known. */
export const seriesOf = (history: History | undefined, name: keyof History['series']): Series =>
  history?.series[name] ?? none

/** The times of the steps, in milliseconds. */
export function timesOf(history: History | undefined): number[] {
  if (!history) return []
  const from = Date.parse(history.from)
  return seriesOf(history, 'webhooks').ok.map((_, index) => from + index * history.step * 1000)
}
