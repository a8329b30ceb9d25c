import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { addressOf, api } from '../../api/client.ts'
import {
  ButtonLink,
  DataTable,
  Empty,
  Page,
  ProblemNotice,
  Section,
  SelectField,
  Status,
  TextField,
  formatDuration,
  formatNumber,
  formatPercent,
  type Column,
} from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'
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
    header: 'Address',
    cell: ({ id, url }) => (
      <Link to="/subscribers/$id" params={{ id }} className={linkLook} title={url}>
        {url}
      </Link>
    ),
  },
  {
    key: 'owner',
    header: 'Customer',
    width: '10rem',
    cell: ({ owner }) =>
      owner === null ? (
        '–'
      ) : (
        <Link to="/customers/$owner" params={{ owner }} className={linkLook}>
          {owner}
        </Link>
      ),
  },
  {
    key: 'types',
    header: 'Event types',
    width: '14rem',
    hideOnPhone: true,
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

export function ListPage() {
  const { state, owner, url } = route.useSearch()
  const navigate = route.useNavigate()
  const pages = usePages({
    key: ['subscribers', 'list', { state, owner, url }],
    read: (cursor, signal) =>
      api.get('/subscribers', { query: { state, owner, url, limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  const isFiltered = Boolean(state ?? owner ?? url)
  const set = (change: {
    state?: string | undefined
    owner?: string | undefined
    url?: string | undefined
  }): void => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <Page
      title="Subscribers"
      description="Addresses that get your events as signed webhooks."
      actions={
        <ButtonLink kind="primary" to="/subscribers/new" icon={<Plus size={16} aria-hidden />}>
          Add a subscriber
        </ButtonLink>
      }
    >
      <div role="search" aria-label="Filter subscribers" className="mb-4 grid gap-3 sm:grid-cols-3">
        <SelectField
          label="State"
          options={states}
          value={state ?? ''}
          onChange={({ target }) => set({ state: target.value || undefined })}
        />
        <TextField
          label="Customer"
          defaultValue={owner ?? ''}
          key={`owner-${owner ?? ''}`}
          onBlur={({ target }) =>
            target.value !== (owner ?? '') && set({ owner: target.value.trim() || undefined })
          }
          onKeyDown={(pressed) => pressed.key === 'Enter' && pressed.currentTarget.blur()}
        />
        <TextField
          label="Text in the address"
          type="search"
          defaultValue={url ?? ''}
          onChange={({ target }) => set({ url: target.value.trim() || undefined })}
        />
      </div>
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DataTable
          label="Subscribers"
          columns={columns}
          rows={pages.rows}
          rowKey={({ id }) => id}
          loading={pages.loading}
          error={pages.error}
          onMore={pages.onMore}
          loadingMore={pages.loadingMore}
          empty={
            isFiltered ? <Empty title="No subscriber matches">Remove a filter.</Empty> : <NoSubscribers />
          }
        />
      </Section>
    </Page>
  )
}

const NoSubscribers = () => (
  <Empty
    title="No subscribers yet"
    command={`curl -X POST ${addressOf('/subscribers')} \\
  -H "authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"url": "https://example.com/hooks", "eventTypes": ["*"]}'`}
    action={
      <ButtonLink kind="primary" to="/subscribers/new">
        Add a subscriber
      </ButtonLink>
    }
  >
    A subscriber is an address that receives your events. Add one here, with the call below, or let your
    customers do it in the portal.
  </Empty>
)
