import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { Empty, FilterBar, ProblemNotice, Section } from '../../ui/index.ts'
import { DeliveryTable } from '../deliveries/delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'

const route = getRouteApi('/subscribers/$id')
const statuses = [
  { value: '', label: 'Any status' },
  ...[
    ['pending', 'Pending'],
    ['delivered', 'Delivered'],
    ['dead', 'Failed'],
  ].map(([value, label]) => ({ value: value!, label: label! })),
]

const filters = [
  { name: 'status', label: 'Status', options: statuses },
  { name: 'type', label: 'Event type' },
]

/** What was sent to one endpoint, newest first. */
export function DeliveriesTab({ id }: { id: string }) {
  const { status, type } = route.useSearch()
  const pages = usePages({
    key: ['deliveries', 'of', id, status, type],
    read: (cursor, signal) =>
      api.get('/deliveries', {
        query: { subscriber: id, status, eventType: type, limit: 50, cursor },
        signal,
      }),
    idOf: ({ id }) => id,
  })
  return (
    <>
      <FilterBar label="Filter deliveries" filters={filters} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DeliveryTable
          of="subscriber"
          pages={pages}
          empty={
            <Empty title={(status ?? type) ? 'No deliveries match' : 'No deliveries yet'}>
              {(status ?? type) ? 'Remove a filter.' : 'Send a test event with the button above.'}
            </Empty>
          }
        />
      </Section>
    </>
  )
}
