import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { useSince } from '../../layout/time-range.ts'
import { Empty, FilterBar, Page, ProblemNotice, Section, type Filter } from '../../ui/index.ts'
import { DeliveryTable } from './delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'

const route = getRouteApi('/deliveries')

const statuses = [
  { value: '', label: 'Any status' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Dead: given up' },
]
const responses = [
  { value: '', label: 'Any response' },
  { value: '2xx', label: '2xx' },
  { value: '3xx', label: '3xx' },
  { value: '4xx', label: '4xx' },
  { value: '5xx', label: '5xx' },
  { value: 'none', label: 'No response' },
]

const filters: readonly Filter[] = [
  { name: 'status', label: 'Status', options: statuses },
  { name: 'response', label: 'Response', options: responses },
  { name: 'type', label: 'Event type' },
  { name: 'event', label: 'Event ID' },
  { name: 'owner', label: 'Customer' },
  { name: 'subscriber', label: 'Endpoint ID' },
  { name: 'all', label: 'All time', type: 'check' },
]

/** The deliveries of all subscribers. */
export function ListPage() {
  const search = route.useSearch()
  const since = useSince()
  const { status, subscriber, owner, type, event, response, all } = search
  const isFiltered = Boolean(status ?? subscriber ?? owner ?? type ?? event ?? response)
  const pages = usePages({
    key: ['deliveries', 'all', search, since],
    read: (cursor, signal) =>
      api.get('/deliveries', {
        query: {
          status,
          subscriber,
          owner,
          eventType: type,
          eventId: event,
          response,
          ...(all === undefined && { since }),
          limit: 50,
          cursor,
        },
        signal,
      }),
    idOf: ({ id }) => id,
  })
  return (
    <Page
      range
      title="Deliveries"
      description="Each event goes to each subscriber that wants it, as one delivery."
    >
      <FilterBar label="Filter deliveries" filters={filters} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DeliveryTable
          pages={pages}
          empty={
            <Empty title={isFiltered ? 'No delivery matches' : 'No deliveries in this time'}>
              {isFiltered
                ? 'Remove a filter, or choose a longer time range above.'
                : 'A delivery appears when an event is emitted that a subscriber wants.'}
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}
