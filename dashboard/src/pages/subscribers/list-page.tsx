import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { addressOf, api } from '../../api/client.ts'
import {
  ButtonLink,
  DataTable,
  Empty,
  FilterBar,
  Page,
  ProblemNotice,
  Section,
  Status,
  formatDuration,
  formatNumber,
  formatPercent,
  type Column,
} from '../../ui/index.ts'
import { CustomerLink } from '../customers/customer-fact.tsx'
import { usePages } from '../../api/use-pages.ts'
import { meaningOf, type SubscriberRow } from '../../webhooks/types.ts'

const route = getRouteApi('/subscribers')

const columns: readonly Column<SubscriberRow>[] = [
  {
    key: 'state',
    header: 'State',
    width: '7rem',
    cell: ({ state }) => (
      <span title={meaningOf[state]}>
        <Status value={state} />
      </span>
    ),
  },
  {
    key: 'url',
    header: 'Endpoint',
    phone: 'primary',
    cell: ({ id, url, description }) => (
      <>
        <Link to="/subscribers/$id" params={{ id }} title={url} className="block min-h-6 truncate">
          {url}
        </Link>
        {description && <span className="text-sm text-soft">{description}</span>}
      </>
    ),
  },
  {
    key: 'owner',
    header: 'Customer',
    width: '10rem',
    cell: (row) => <CustomerLink {...row} />,
  },
  {
    key: 'types',
    header: 'Event types',
    width: '14rem',
    phone: 'hidden',
    cell: ({ eventTypes }) => <span title={eventTypes.join(', ')}>{describeTypes(eventTypes)}</span>,
  },
  {
    key: 'success',
    header: 'Success (24 h)',
    align: 'right',
    width: '10rem',
    cell: ({ lastDay: { successRate, delivered, failed } }) =>
      successRate === null ? (
        <span className="text-soft">no attempts</span>
      ) : (
        <span title={`${formatNumber(delivered)} succeeded, ${formatNumber(failed)} failed`}>
          {formatPercent(successRate)}
        </span>
      ),
  },
  {
    key: 'p99',
    header: 'p99',
    align: 'right',
    width: '8rem',
    cell: ({ lastDay: { p99 } }) => (p99 === null ? '–' : `≤ ${formatDuration(p99)}`),
  },
]

export const describeTypes = (types: readonly string[]): string =>
  types.length === 1 && types[0] === '*' ? 'all' : types.join(', ')

const states = [
  { value: '', label: 'Any state' },
  ...(['failing', 'disabled', 'paused', 'idle', 'active'] as const).map((value) => ({ value, label: value })),
]

const filters = [
  { name: 'state', label: 'State', options: states },
  { name: 'owner', label: 'Customer ID' },
  { name: 'url', label: 'Search by URL' },
]

export function ListPage() {
  const { state, owner, url } = route.useSearch()
  const pages = usePages({
    key: ['subscribers', 'list', { state, owner, url }],
    read: (cursor, signal) =>
      api.get('/subscribers', { query: { state, owner, url, limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  const isFiltered = Boolean(state ?? owner ?? url)
  return (
    <Page
      title="Endpoints"
      description="URLs that receive your events as signed webhooks."
      primary={
        <ButtonLink kind="primary" to="/subscribers/new" icon={<Plus size={16} aria-hidden />}>
          Add endpoint
        </ButtonLink>
      }
    >
      <FilterBar label="Filter endpoints" filters={filters} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DataTable
          label="Endpoints"
          columns={columns}
          rows={pages.rows}
          rowKey={({ id }) => id}
          loading={pages.loading}
          error={pages.error}
          onMore={pages.onMore}
          loadingMore={pages.loadingMore}
          empty={isFiltered ? <Empty title="No endpoints match">Remove a filter.</Empty> : <NoEndpoints />}
        />
      </Section>
    </Page>
  )
}

const NoEndpoints = () => (
  <Empty
    title="No endpoints yet"
    command={`curl -X POST ${addressOf('/subscribers')} \\
  -H "authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"url": "https://example.com/hooks", "eventTypes": ["*"]}'`}
    action={
      <ButtonLink kind="primary" to="/subscribers/new">
        Add endpoint
      </ButtonLink>
    }
  >
    An endpoint is a URL that receives your events. Add one here or with this request, or let your customers
    add theirs in the portal.
  </Empty>
)
