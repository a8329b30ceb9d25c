import { Link, getRouteApi } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import {
  Ago,
  DataTable,
  Empty,
  OpenByName,
  Page,
  ProblemNotice,
  SearchField,
  Section,
  Status,
  formatPercent,
  type Column,
} from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'

export type Owner = RowOf<'GET /owners'>

const route = getRouteApi('/customers')
const stateOrder = ['failing', 'disabled', 'paused', 'idle', 'active'] as const

/** How many subscribers an owner has in each state, the worst first. */
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

const columns: readonly Column<Owner>[] = [
  {
    key: 'owner',
    header: 'Customer',
    cell: ({ owner }) => (
      <Link to="/customers/$owner" params={{ owner }} className={linkLook}>
        {owner}
      </Link>
    ),
  },
  { key: 'states', header: 'Subscribers', cell: (row) => <States {...row} /> },
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

/** The owners of subscribers. */
export function ListPage() {
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  const pages = usePages({
    key: ['subscribers', 'owners', q],
    read: (cursor, signal) => api.get('/owners', { query: { q, limit: 50, cursor }, signal }),
    idOf: ({ owner }) => owner,
  })
  return (
    <Page
      title="Customers"
      description="The owners that subscribers name. Each manages its own subscribers in the portal."
    >
      <div className="mb-4 grid items-end gap-3 sm:grid-cols-2">
        <SearchField
          label="Text in the name"
          value={q}
          onSearch={(text) => void navigate({ search: (before) => ({ ...before, q: text }), replace: true })}
        />
        {/* A customer without subscribers is in no list, but can get a link. */}
        <OpenByName
          label="A new customer"
          placeholder="acme"
          onOpen={(owner) => void navigate({ to: '/customers/$owner', params: { owner } })}
        />
      </div>
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
  -d '{"owner": "acme"}'`}
              >
                A customer appears with its first subscriber. Give it a link to the portal, where it adds its
                own: open it by its name above, or with this call.
              </Empty>
            ) : (
              <Empty title="No customer matches">Change the text above.</Empty>
            )
          }
        />
      </Section>
    </Page>
  )
}
