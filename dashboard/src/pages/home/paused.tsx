import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Pause } from 'lucide-react'
import { api } from '../../api/client.ts'
import { elapsedInWords } from '../../ui/duration-words.ts'
import { formatNumber } from '../../ui/format.ts'

const most = 20

/** Handlers and endpoints that somebody paused: easily forgotten, and their events wait. */
export function usePausedRows() {
  const handlers = useQuery({
    queryKey: ['handlers'],
    queryFn: ({ signal }) => api.get('/handlers', { signal }),
  })
  const endpoints = useQuery({
    queryKey: ['subscribers', 'paused'],
    queryFn: ({ signal }) => api.get('/subscribers', { query: { state: 'paused', limit: most }, signal }),
  })
  return [
    ...(handlers.data?.data ?? []).flatMap(({ id, paused, waiting }) =>
      paused === null
        ? []
        : [
            <PausedRow
              key={`handler ${id}`}
              to={`/handlers/${encodeURIComponent(id)}`}
              text={`Handler ${id} is paused: ${formatNumber(waiting)} ${waiting === 1 ? 'event' : 'events'} waiting.`}
              since={`for ${elapsedInWords(paused.at)}`}
            />,
          ],
    ),
    ...(endpoints.data?.data ?? []).map(({ id, url, description }) => (
      <PausedRow
        key={`endpoint ${id}`}
        to={`/subscribers/${encodeURIComponent(id)}`}
        text={`Endpoint ${description ?? new URL(url).host} is paused. Its events wait until you resume it.`}
      />
    )),
  ]
}

function PausedRow({ to, text, since }: { to: string; text: string; since?: string }) {
  return (
    <li className="border-b border-line last:border-b-0">
      <Link
        to={to as '/handlers'}
        className="flex items-center gap-3 px-4 py-2.5 text-ink no-underline hover:bg-sunken"
      >
        <Pause size={18} aria-hidden className="shrink-0 text-warn" />
        <span className="min-w-0 flex-1 break-words">
          {text}
          {since && <span className="block text-sm text-soft">{since}</span>}
        </span>
      </Link>
    </li>
  )
}
