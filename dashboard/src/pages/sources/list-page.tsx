import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Ago,
  Button,
  CopyValue,
  DataTable,
  Empty,
  formatNumber,
  Page,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'

type Source = RowOf<'GET /sources'>

const AddSourceDialog = lazy(() => import('./add-source.tsx'))

const columns: Column<Source>[] = [
  {
    key: 'name',
    header: 'Source',
    width: '8rem',
    cell: ({ name }) => (
      <Link to="/sources/$name" params={{ name }} className="font-medium">
        {name}
      </Link>
    ),
  },
  {
    key: 'sender',
    header: 'Sender',
    phone: 'secondary',
    width: '12rem',
    cell: ({ label }) => <span className="whitespace-normal">{label}</span>,
  },
  {
    key: 'url',
    header: 'URL',
    phone: 'hidden',
    cell: ({ name, url }) => <CopyValue value={url} label={`Copy the URL of ${name}`} />,
  },
  {
    key: 'last',
    header: 'Last event',
    phone: 'secondary',
    width: '9.5rem',
    cell: ({ lastEventAt }) => <Ago value={lastEventAt} />,
  },
  {
    key: 'accepted',
    header: 'Accepted',
    align: 'right',
    width: '6rem',
    cell: ({ day }) => formatNumber(day.accepted),
  },
  {
    key: 'duplicates',
    header: 'Duplicates',
    align: 'right',
    width: '6.5rem',
    cell: ({ day }) => formatNumber(day.duplicates),
  },
  {
    key: 'refused',
    header: 'Rejected',
    align: 'right',
    width: '6rem',
    cell: ({ day }) => (
      <span className={day.refused > 0 ? 'font-medium text-danger' : ''}>{formatNumber(day.refused)}</span>
    ),
  },
]

/** All sources, with what arrived in the last 24 hours. */
export function ListPage() {
  const [adding, setAdding] = useState(false)
  const sources = useQuery({
    queryKey: ['sources'],
    queryFn: ({ signal }) => api.get('/sources', { signal }),
  })
  return (
    <Page
      title="Sources"
      description="Senders of webhooks, with what arrived in the last 24 hours."
      primary={
        <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setAdding(true)}>
          Add source
        </Button>
      }
    >
      {sources.error && <ProblemNotice error={sources.error} retry={() => void sources.refetch()} />}
      <Section flush>
        <DataTable
          label="Sources"
          columns={columns}
          rows={sources.data?.data ?? []}
          rowKey={({ name }) => name}
          loading={sources.isPending}
          error={sources.error}
          empty={
            <Empty title="No sources" action={<Button onClick={() => setAdding(true)}>Add source</Button>}>
              A source verifies and stores the webhooks of one sender.
            </Empty>
          }
        />
      </Section>
      {adding && (
        <Suspense>
          <AddSourceDialog onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </Page>
  )
}
