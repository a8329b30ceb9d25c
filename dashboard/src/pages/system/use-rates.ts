import { useQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { formatNumber } from '../../ui/index.ts'

type History = AnswerOf<'GET /metrics/history'>

/** Whole minutes that the rates are the mean of. */
const minutes = 10

/** What goes into the queues and out of them, a minute. */
export function useRates() {
  const { data } = useQuery({
    queryKey: ['metrics', 'history', '1h'],
    queryFn: ({ signal }) => api.get('/metrics/history', { query: { range: '1h' }, signal }),
  })
  return {
    received: textOf(data, 'webhooks'),
    handled: textOf(data, 'handlers'),
    delivered: textOf(data, 'deliveries'),
  }
}

function textOf(history: History | undefined, name: 'webhooks' | 'handlers' | 'deliveries'): string {
  if (!history) return '…'
  const { ok = [] } = history.series[name] ?? {}
  // The last step has not ended. A step of this range is a minute.
  const last = ok.slice(-minutes - 1, -1)
  const mean = last.reduce((sum, count) => sum + count, 0) / Math.max(1, last.length)
  const rounded = mean >= 10 ? Math.round(mean) : Math.round(mean * 10) / 10
  return `${formatNumber(rounded)} per minute`
}
