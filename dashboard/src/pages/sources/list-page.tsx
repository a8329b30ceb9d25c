import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Ago,
  CopyValue,
  DataTable,
  Empty,
  formatShort,
  Page,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'

type Source = RowOf<'GET /sources'>

const columns: Column<Source>[] = [
  {
    key: 'name',
    header: 'Source',
    width: '8rem',
    cell: ({ name }) => (
      <Link
        to="/sources/$name"
        params={{ name }}
        className="font-medium text-accent underline underline-offset-2"
      >
        {name}
      </Link>
    ),
  },
  {
    key: 'sender',
    header: 'Sender',
    width: '12rem',
    cell: ({ label }) => <span className="whitespace-normal">{label}</span>,
  },
  {
    key: 'url',
    header: 'URL',
    cell: ({ name, url }) => <CopyValue value={url} label={`Copy the URL of ${name}`} />,
  },
  {
    key: 'last',
    header: 'Last event',
    width: '10.5rem',
    cell: ({ lastEventAt }) => <Ago value={lastEventAt} />,
  },
  {
    key: 'accepted',
    header: 'Accepted',
    align: 'right',
    width: '6.5rem',
    cell: ({ day }) => formatShort(day.accepted),
  },
  {
    key: 'duplicates',
    header: 'Repeated',
    align: 'right',
    width: '6.5rem',
    cell: ({ day }) => formatShort(day.duplicates),
  },
  {
    key: 'refused',
    header: 'Refused',
    align: 'right',
    width: '6rem',
    cell: ({ day }) => (
      <span className={day.refused > 0 ? 'font-medium text-danger' : ''}>{formatShort(day.refused)}</span>
    ),
  },
]

/** All sources, with what arrived in the last 24 hours. */
export function ListPage() {
  const sources = useQuery({
    queryKey: ['sources'],
    queryFn: ({ signal }) => api.get('/sources', { signal }),
  })
  return (
    <Page
      title="Sources"
      description="Who sends webhooks in, and what arrived from each in the last 24 hours."
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
            <Empty title="There is no source">
              Declare sources in receiving.sources of the configuration module.
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}
