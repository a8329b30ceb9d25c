import { Link, getRouteApi } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import {
  Badge,
  DataTable,
  Empty,
  OpenByName,
  Page,
  ProblemNotice,
  SearchField,
  Section,
  type Column,
} from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'
import { useEventTypes } from '../../webhooks/calls.ts'

export type EventType = RowOf<'GET /event-types'>

const route = getRouteApi('/event-types')

const columns: readonly Column<EventType>[] = [
  {
    key: 'type',
    header: 'Type',
    width: '16rem',
    cell: ({ type }) => (
      <Link to="/event-types/$type" params={{ type }} className={linkLook}>
        {type}
      </Link>
    ),
  },
  { key: 'description', header: 'Description', cell: ({ description }) => <Sentence text={description} /> },
  {
    key: 'schema',
    header: 'Schema',
    width: '8rem',
    cell: ({ schema }) => (schema ? 'yes' : <span className="text-soft">none</span>),
  },
  {
    key: 'source',
    header: 'Emitted by',
    width: '10rem',
    cell: ({ builtIn }) => (builtIn ? <Badge>Postern</Badge> : 'your product'),
  },
]

/** The description without the marks of code, on as many lines as it needs. */
function Sentence({ text }: { text: string | null }) {
  if (text === null) return '–'
  return <span className="whitespace-normal">{text.replaceAll('`', '')}</span>
}

const example = `import { defineConfig } from 'postern'

export default defineConfig({
  emitting: {
    eventTypes: {
      'order.paid': {
        description: 'An order was paid.',
        schema: {
          type: 'object',
          required: ['orderId'],
          properties: { orderId: { type: 'string' } },
        },
        samples: [{ orderId: 'A-1001' }],
      },
    },
  },
})`

/** The catalogue of event types. */
export function ListPage() {
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, error, refetch } = useEventTypes()
  const all = data?.data ?? []
  const wanted = q.toLowerCase()
  const rows = all.filter(({ type, description }) =>
    `${type} ${description ?? ''}`.toLowerCase().includes(wanted),
  )
  const declared = all.some(({ builtIn }) => !builtIn)
  return (
    <Page title="Event types" description="What your product can send, for the developers of subscribers.">
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <div className="mb-4 grid items-end gap-3 sm:grid-cols-2">
        <SearchField
          label="Text in type or description"
          value={q}
          onSearch={(text) => void navigate({ search: (before) => ({ ...before, q: text }), replace: true })}
        />
        {/* Types that are not declared are in no list, but can be emitted. */}
        <OpenByName
          label="Another type to emit"
          placeholder="order.paid"
          onOpen={(type) => void navigate({ to: '/event-types/$type', params: { type } })}
        />
      </div>
      <Section flush>
        <DataTable
          label="Event types"
          columns={columns}
          rows={rows}
          rowKey={({ type }) => type}
          loading={!data && !error}
          error={error}
          empty={<Empty title="No event type matches">Change the text above.</Empty>}
        />
      </Section>
      {data && !declared && (
        <Section>
          <Empty title="No types of your own are declared" command={example}>
            Events of undeclared types can be emitted. A declaration in the configuration module adds a
            description, a schema that is checked, and samples.
          </Empty>
        </Section>
      )}
    </Page>
  )
}
