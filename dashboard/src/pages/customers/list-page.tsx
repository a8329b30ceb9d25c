import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import {
  Ago,
  Button,
  DataTable,
  Empty,
  FilterBar,
  Page,
  ProblemNotice,
  Section,
  Status,
  formatPercent,
  type Column,
} from '../../ui/index.ts'
import { usePages } from '../../api/use-pages.ts'

import { NameDialog } from './name-dialog.tsx'

export type Owner = RowOf<'GET /owners'>

const route = getRouteApi('/customers')
const stateOrder = ['failing', 'disabled', 'paused', 'idle', 'active'] as const

/** How many endpoints a customer has in each state, the worst first. */
export function States({ states }: Pick<Owner, 'states'>) {
  return (
    <span className="inline-flex flex-wrap gap-1">
      {stateOrder
        .filter((state) => states[state] > 0)
        .map((state) => (
          <Status key={state} value={state}>
            {states[state]} {state}
          </Status>
        ))}
    </span>
  )
}

export const accessOf = ({ linkExpiresAt, sessionExpiresAt }: Owner): string =>
  sessionExpiresAt === null ? (linkExpiresAt === null ? 'none' : 'link') : 'session'

const filters = [{ name: 'q', label: 'Search customers', placeholder: 'Name or ID' }]

const columns: readonly Column<Owner>[] = [
  {
    key: 'owner',
    header: 'Customer',
    cell: ({ owner, name }) => (
      <Link to="/customers/$owner" params={{ owner }} title={owner}>
        {name ?? owner}
      </Link>
    ),
  },
  {
    key: 'id',
    header: 'ID',
    phone: 'hidden',
    cell: ({ owner }) => (
      <span title={owner} className="font-mono text-sm text-soft">
        {owner}
      </span>
    ),
  },
  { key: 'states', header: 'Endpoints', cell: (row) => <States {...row} /> },
  {
    key: 'success',
    header: 'Success (24 h)',
    align: 'right',
    width: '10rem',
    cell: ({ successRate }) =>
      successRate === null ? <span className="text-soft">no attempts</span> : formatPercent(successRate),
  },
  {
    key: 'last',
    header: 'Last delivery',
    width: '11rem',
    cell: ({ lastDelivery }) => <Ago value={lastDelivery?.createdAt} />,
  },
  { key: 'portal', header: 'Portal access', width: '8rem', cell: (row) => accessOf(row) },
]

/** The customers of the product. */
export function ListPage() {
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  const [adding, setAdding] = useState(false)
  const pages = usePages({
    key: ['subscribers', 'owners', q],
    read: (cursor, signal) => api.get('/owners', { query: { q, limit: 50, cursor }, signal }),
    idOf: ({ owner }) => owner,
  })
  return (
    <Page
      title="Customers"
      description="Your customers. Each manages its endpoints in the portal."
      primary={
        <Button kind="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
          Add customer
        </Button>
      }
    >
      <FilterBar label="Filter customers" filters={filters} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DataTable
          label="Customers"
          columns={columns}
          rows={pages.rows}
          rowKey={({ owner }) => owner}
          loading={pages.loading}
          error={pages.error}
          onMore={pages.onMore}
          loadingMore={pages.loadingMore}
          empty={
            q === undefined ? (
              <Empty
                title="No customers yet"
                command={`curl -X POST ${addressOf('/portal-links')} \\
  -H "authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"owner": "acme", "name": "Acme Corporation"}'`}
              >
                Add a customer here, or create a portal link for it with this request. In the portal, the
                customer adds its own endpoints.
              </Empty>
            ) : (
              <Empty title="No customers match">Search for a part of the name or ID.</Empty>
            )
          }
        />
      </Section>
      {adding && (
        <NameDialog
          onClose={() => setAdding(false)}
          onSaved={(owner) => void navigate({ to: '/customers/$owner', params: { owner } })}
        />
      )}
    </Page>
  )
}
