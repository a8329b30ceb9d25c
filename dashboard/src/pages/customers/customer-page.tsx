import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { api, isProblem } from '../../api/client.ts'
import {
  ButtonLink,
  DataTable,
  Empty,
  Fact,
  Facts,
  Loading,
  Notice,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  formatNumber,
  formatPercent,
  type Column,
} from '../../ui/index.ts'
import { DeliveryTable, linkLook } from '../deliveries/delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'
import type { SubscriberRow } from '../../webhooks/types.ts'
import { States, type Owner } from './list-page.tsx'
import { PortalAccess } from './portal-access.tsx'
import { PortalBrand } from './portal-brand.tsx'

const route = getRouteApi('/customers/$owner')

const columns: readonly Column<SubscriberRow>[] = [
  { key: 'state', header: 'State', width: '7rem', cell: ({ state }) => <Status value={state} /> },
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
    key: 'success',
    header: 'Success (24 h)',
    align: 'right',
    width: '10rem',
    cell: ({ lastDay: { successRate } }) =>
      successRate === null ? 'no attempts' : formatPercent(successRate),
  },
]

/** One owner: its subscribers, its deliveries and its access to the portal. */
export function CustomerPage() {
  const { owner } = route.useParams()
  const { data, error, refetch } = useQuery({
    queryKey: ['subscribers', 'owner', owner],
    queryFn: ({ signal }) => api.get('/owners/{owner}', { params: { owner }, signal }),
  })
  const isNew = isProblem(error, 404)
  return (
    <Page
      title={owner}
      beside={data && <States {...data} />}
      actions={
        <ButtonLink to="/subscribers/new" search={{ owner }} icon={<Plus size={16} aria-hidden />}>
          Add a subscriber
        </ButtonLink>
      }
    >
      {error && !isNew && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {isNew && (
        <Notice>
          Nothing belongs to this customer yet. Make a link to the portal, or add its first subscriber.
        </Notice>
      )}
      {data && <About owner={data} />}
      <PortalAccess
        key={`access ${owner}`}
        owner={owner}
        linkExpiresAt={data?.linkExpiresAt ?? null}
        sessionExpiresAt={data?.sessionExpiresAt ?? null}
      />
      <PortalBrand key={`brand ${owner}`} owner={owner} />
      {!isNew && <Subscribers owner={owner} />}
      {!isNew && <Deliveries owner={owner} />}
    </Page>
  )
}

function About({ owner: { subscribers, delivered, failed, successRate, lastDelivery } }: { owner: Owner }) {
  return (
    <Section title="Last day">
      <Facts>
        <Fact name="Subscribers">{formatNumber(subscribers)}</Fact>
        <Fact name="Success">
          {successRate === null
            ? 'no attempts'
            : `${formatPercent(successRate)} of ${formatNumber(delivered + failed)} attempts`}
        </Fact>
        <Fact name="Last delivery">
          {lastDelivery ? (
            <Link to="/deliveries/$id" params={{ id: String(lastDelivery.id) }} className={linkLook}>
              <Time value={lastDelivery.createdAt} />, {lastDelivery.status}
            </Link>
          ) : (
            'none'
          )}
        </Fact>
      </Facts>
    </Section>
  )
}

function Subscribers({ owner }: { owner: string }) {
  const pages = usePages({
    key: ['subscribers', 'of', owner],
    read: (cursor, signal) => api.get('/subscribers', { query: { owner, limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  return (
    <Section title="Subscribers" flush>
      <DataTable
        label="Subscribers"
        columns={columns}
        rows={pages.rows}
        rowKey={({ id }) => id}
        loading={pages.loading}
        error={pages.error}
        onMore={pages.onMore}
        loadingMore={pages.loadingMore}
        empty={<Empty title="No subscribers">Add one above, or let the customer do it in the portal.</Empty>}
      />
    </Section>
  )
}

function Deliveries({ owner }: { owner: string }) {
  const pages = usePages({
    key: ['deliveries', 'of-owner', owner],
    read: (cursor, signal) => api.get('/deliveries', { query: { owner, limit: 20, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  return (
    <Section title="Deliveries" flush>
      <DeliveryTable of="customer" pages={pages} empty={<Empty title="Nothing was sent yet" />} />
    </Section>
  )
}
