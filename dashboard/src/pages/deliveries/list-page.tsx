import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { useSince } from '../../layout/time-range.ts'
import { Empty, FilterBar, Page, ProblemNotice, Section, type Filter } from '../../ui/index.ts'
import { DeliveryTable } from './delivery-table.tsx'
import { SendEvent } from '../event-types/send-event.tsx'
import { usePages } from '../../api/use-pages.ts'

const route = getRouteApi('/deliveries')

const statuses = [
  { value: '', label: 'Any status' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Failed' },
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
  { name: 'event', label: 'Event ID', more: true },
  { name: 'owner', label: 'Customer' },
  { name: 'subscriber', label: 'Endpoint ID', more: true },
]

/** The deliveries to all endpoints. */
export function ListPage() {
  const search = route.useSearch()
  const since = useSince()
  const { status, subscriber, owner, type, event, response } = search
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
          // One event's deliveries are few, and may be older than the range.
          ...(event === undefined && { since }),
          limit: 50,
          cursor,
        },
        signal,
      }),
    idOf: ({ id }) => id,
  })
  return (
    <Page
      range={event === undefined}
      title="Deliveries"
      description="Each event is delivered to every endpoint that subscribes to its type."
      primary={<SendEvent />}
    >
      <FilterBar label="Filter deliveries" filters={filters} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DeliveryTable
          pages={pages}
          empty={
            <Empty title={isFiltered ? 'No deliveries match' : 'No deliveries in this time range'}>
              {isFiltered
                ? 'Remove a filter, or choose a longer time range above.'
                : 'A delivery appears when you send an event that an endpoint subscribes to.'}
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}
