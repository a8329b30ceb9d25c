import { useQuery } from '@tanstack/react-query'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { DataTable, Empty, ReadState, Section, Status, Time, type Column } from '../../ui/index.ts'
import { EventLink } from '../failures/event-link.tsx'

type Event = RowOf<'GET /events'>

const columns: Column<Event>[] = [
  { key: 'event', header: 'Event', cell: ({ id, eventId }) => <EventLink id={id}>{eventId}</EventLink> },
  { key: 'type', header: 'Type', cell: ({ type }) => type },
  { key: 'status', header: 'Status', cell: ({ status }) => <Status value={status} /> },
  { key: 'at', header: 'Received', cell: ({ createdAt }) => <Time value={createdAt} /> },
]

/** The newest events of a source. */
export function SourceEvents({ source }: { source: string }) {
  const events = useQuery({
    queryKey: ['events', { source, limit: 20 }],
    queryFn: ({ signal }) => api.get('/events', { query: { source, limit: 20, order: 'desc' }, signal }),
  })
  if (!events.data) return <ReadState {...events} />
  return (
    <>
      <ReadState {...events} />
      <Section title="Latest events" flush>
        <DataTable
          label="Latest events"
          columns={columns}
          rows={events.data.data}
          rowKey={({ id }) => String(id)}
          loading={events.isPending}
          empty={<Empty title="No events yet">Send a signed sample to see one.</Empty>}
        />
      </Section>
    </>
  )
}
