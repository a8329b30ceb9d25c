import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { Page } from '../../ui/index.ts'
import { EventLogTable } from './event-log-table.tsx'
import { isBodySearch, useChosen, useFilterQuery } from './filter.ts'
import { Filters } from './filters.tsx'
import { Peek } from './peek.tsx'
import { SearchResults } from './search-results.tsx'

const route = getRouteApi('/events')

/** Inbound → Events: the log of all events, and the search of their bodies. */
export function ListPage() {
  const { peek } = route.useSearch()
  const navigate = useNavigate({ from: '/events' })
  const chosen = useChosen()
  const filter = useFilterQuery()
  const onPeek = useMemo(
    () => (id: number | undefined) =>
      void navigate({
        search: (before) => ({ ...before, peek: id === undefined ? undefined : String(id) }),
        resetScroll: false,
      }),
    [navigate],
  )
  const parts = { filter, chosen, peek, onPeek }
  return (
    <Page range title="Events" description="Received webhooks and sent events.">
      <Filters />
      {isBodySearch(chosen) ? <SearchResults {...parts} /> : <EventLogTable key={filter.key} {...parts} />}
      {peek !== undefined && <Peek id={peek} onClose={() => onPeek(undefined)} />}
    </Page>
  )
}
