import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { api, isProblem } from '../../api/client.ts'
import {
  Button,
  ButtonLink,
  CopyValue,
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
import { DeliveryTable, wordFor } from '../deliveries/delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'
import type { SubscriberRow } from '../../webhooks/types.ts'
import { SendEvent } from '../event-types/send-event.tsx'
import { useState } from 'react'
import { NameDialog } from './name-dialog.tsx'
import { States, type Owner } from './list-page.tsx'
import { PortalAccess } from './portal-access.tsx'
import { PortalBrand } from './portal-brand.tsx'

const route = getRouteApi('/customers/$owner')

const columns: readonly Column<SubscriberRow>[] = [
  { key: 'state', header: 'State', width: '7rem', cell: ({ state }) => <Status value={state} /> },
  {
    key: 'url',
    header: 'Endpoint',
    cell: ({ id, url }) => (
      <Link to="/subscribers/$id" params={{ id }} title={url}>
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

/** One customer: its endpoints, its deliveries and its access to the portal. */
export function CustomerPage() {
  const { owner } = route.useParams()
  const {
    data: read,
    error,
    refetch,
  } = useQuery({
    queryKey: ['subscribers', 'owner', owner],
    queryFn: ({ signal }) => api.get('/owners/{owner}', { params: { owner }, signal }),
  })
  const [naming, setNaming] = useState(false)
  const isNew = isProblem(error, 404)
  // Without endpoints and a name, a customer is unknown again.
  const data = isNew ? undefined : read
  return (
    <Page
      title={data?.name ?? owner}
      up={<Link to="/customers">Customers</Link>}
      beside={data && <States {...data} />}
      actions={
        <>
          <Button onClick={() => setNaming(true)}>Edit name</Button>
          <ButtonLink to="/subscribers/new" search={{ owner }} icon={<Plus size={16} aria-hidden />}>
            Add endpoint
          </ButtonLink>
        </>
      }
      primary={<SendEvent owner={owner} />}
    >
      {error && !isNew && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {isNew && (
        <Notice>This customer has no endpoints yet. Create a portal link, or add its first endpoint.</Notice>
      )}
      {data && <About owner={data} />}
      {!isNew && <Endpoints owner={owner} />}
      {!isNew && <Deliveries owner={owner} />}
      <PortalAccess
        key={`access ${owner}`}
        owner={owner}
        linkExpiresAt={data?.linkExpiresAt ?? null}
        sessionExpiresAt={data?.sessionExpiresAt ?? null}
      />
      <PortalBrand key={`brand ${owner}`} owner={owner} />
      {naming && (
        <NameDialog
          owner={owner}
          name={data?.name ?? null}
          onClose={() => setNaming(false)}
          onSaved={() => setNaming(false)}
        />
      )}
    </Page>
  )
}

function About({
  owner: { owner, subscribers, delivered, failed, successRate, lastDelivery },
}: {
  owner: Owner
}) {
  return (
    <Section>
      <Facts>
        <Fact name="ID">
          <CopyValue value={owner} label="Copy the ID" />
        </Fact>
        <Fact name="Endpoints">{formatNumber(subscribers)}</Fact>
        <Fact name="Success (24 h)">
          {successRate === null
            ? 'no attempts'
            : `${formatPercent(successRate)} of ${formatNumber(delivered + failed)} attempts`}
        </Fact>
        <Fact name="Last delivery">
          {lastDelivery ? (
            <Link to="/deliveries/$id" params={{ id: String(lastDelivery.id) }}>
              <Time value={lastDelivery.createdAt} />, {wordFor(lastDelivery)}
            </Link>
          ) : (
            'none'
          )}
        </Fact>
      </Facts>
    </Section>
  )
}

function Endpoints({ owner }: { owner: string }) {
  const pages = usePages({
    key: ['subscribers', 'of', owner],
    read: (cursor, signal) => api.get('/subscribers', { query: { owner, limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  return (
    <Section title="Endpoints" flush>
      <DataTable
        label="Endpoints"
        columns={columns}
        rows={pages.rows}
        rowKey={({ id }) => id}
        loading={pages.loading}
        error={pages.error}
        onMore={pages.onMore}
        loadingMore={pages.loadingMore}
        empty={<Empty title="No endpoints">Add one above, or let the customer add one in the portal.</Empty>}
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
      <DeliveryTable of="customer" pages={pages} empty={<Empty title="No deliveries yet" />} />
    </Section>
  )
}
