import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import {
  Badge,
  Button,
  DataTable,
  CodeBlock,
  Empty,
  FilterBar,
  Page,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { useEventTypes } from '../../webhooks/calls.ts'
import { SendEvent } from './send-event.tsx'
import { TypeDialog, newestVersion, useStoredTypes } from './type-dialog.tsx'
import { useTypesInUse } from './types-in-use.ts'

type EventType = Pick<RowOf<'GET /event-types'>, 'type' | 'description' | 'schema' | 'builtIn'> & {
  isUndeclared?: boolean
  deprecated?: boolean
  /** Why customers do not see it. */
  hidden?: 'archived' | 'behind a feature flag'
}

const route = getRouteApi('/event-types')

const filters = [{ name: 'q', label: 'Search event types', placeholder: 'order.paid' }]

const columns: readonly Column<EventType>[] = [
  {
    key: 'type',
    header: 'Type',
    width: '18rem',
    cell: ({ type }) => (
      <Link to="/event-types/$type" params={{ type }} title={type}>
        {type}
      </Link>
    ),
  },
  {
    key: 'description',
    header: 'Description',
    phone: 'secondary',
    cell: ({ description }) => <Sentence text={description} />,
  },
  {
    key: 'schema',
    header: 'Schema',
    phone: 'hidden',
    width: '8rem',
    cell: ({ schema }) => (schema ? 'yes' : <span className="text-soft">none</span>),
  },
  {
    key: 'source',
    header: 'Sent by',
    phone: 'aside',
    width: '10rem',
    cell: ({ builtIn, isUndeclared, deprecated, hidden }) =>
      builtIn ? (
        <Badge>Postern</Badge>
      ) : isUndeclared ? (
        <Badge tone="warn">not declared</Badge>
      ) : (hidden ?? deprecated) ? (
        <Badge>{hidden ?? 'deprecated'}</Badge>
      ) : (
        'your product'
      ),
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
  const { data, error, refetch } = useEventTypes()
  const stored = useStoredTypes()
  const navigate = useNavigate()
  const [adding, setAdding] = useState(false)
  const inUse = useTypesInUse([...(data?.data ?? []), ...stored])
  const all: EventType[] = [
    ...(data?.data ?? []),
    ...stored
      .filter(({ archived, featureFlags }) => archived || featureFlags !== null)
      .map((one): EventType => ({
        type: one.type,
        description: one.description,
        schema: newestVersion(one)[1],
        builtIn: false,
        hidden: one.archived ? 'archived' : 'behind a feature flag',
      })),
    ...inUse.map((type) => ({ type, description: null, schema: null, builtIn: false, isUndeclared: true })),
  ]
  const wanted = q.toLowerCase()
  const rows = all.filter(({ type, description }) =>
    `${type} ${description ?? ''}`.toLowerCase().includes(wanted),
  )
  const declared = all.some(({ builtIn, isUndeclared }) => !builtIn && !isUndeclared)
  return (
    <Page
      title="Event types"
      description="Events that your product can send. Your customers see them in the portal."
      primary={<SendEvent />}
      actions={
        <Button icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
          Add event type
        </Button>
      }
    >
      {adding && (
        <TypeDialog
          onClose={() => setAdding(false)}
          onSaved={(type) => void navigate({ to: '/event-types/$type', params: { type } })}
        />
      )}
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <FilterBar label="Filter event types" filters={filters} />
      <Section flush>
        <DataTable
          label="Event types"
          columns={columns}
          rows={rows}
          rowKey={({ type }) => type}
          loading={!data && !error}
          error={error}
          empty={
            <Empty title="No event types match">Search for a part of the type or its description.</Empty>
          }
        />
      </Section>
      {data && !declared && (
        <Section
          title="Declare your event types"
          description="You can send events of any type. Add a type here or through the API to describe it to your customers. To also validate its events, declare it with a schema in postern.config.ts."
        >
          <CodeBlock label="Example" code={example} maxHeight="max-h-none" />
        </Section>
      )}
    </Page>
  )
}
