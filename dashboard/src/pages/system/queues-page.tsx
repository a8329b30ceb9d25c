import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import {
  DataTable,
  Fact,
  Facts,
  formatBytes,
  formatDuration,
  formatNumber,
  Loading,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  type Column,
} from '../../ui/index.ts'
import { QueueFacts, type Queues } from './queue-facts.tsx'
import { SystemLinks } from './system-links.tsx'

/** The queues, the spool, the retention and the size of the database. */
export function QueuesPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => api.get('/queues', { signal }),
  })
  return (
    <Page title="Queues and retention" description="What waits, what is kept, and how large it is.">
      <SystemLinks />
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <QueueFacts queues={data} />
          {data.spool && <Spool spool={data.spool} />}
          <Retention rows={data.retention} />
          <Storage queues={data} />
        </>
      )}
    </Page>
  )
}

function Spool({
  spool: { status, events = 0, oldestSeconds = 0 },
}: {
  spool: NonNullable<Queues['spool']>
}) {
  return (
    <Section title="Spool" description="Keeps acknowledged webhooks while the database is away.">
      <Facts>
        <Fact name="State">
          <Status value={status === 'ok' ? 'ok' : 'failing'}>{status}</Status>
        </Fact>
        <Fact name="Webhooks">{formatNumber(events)}</Fact>
        <Fact name="Oldest">{events === 0 ? 'none' : formatDuration(oldestSeconds * 1000)}</Fact>
      </Facts>
    </Section>
  )
}

type RetentionRow = Queues['retention'][number]
const retentionColumns: readonly Column<RetentionRow>[] = [
  { key: 'what', header: 'What', cell: ({ what }) => what },
  {
    key: 'period',
    header: 'Kept for',
    cell: ({ seconds }) => (seconds === null ? 'ever' : formatDuration(seconds * 1000)),
  },
  {
    key: 'oldest',
    header: 'Oldest row',
    cell: ({ oldestAt }) => (oldestAt ? <Time value={oldestAt} /> : '—'),
  },
  { key: 'setting', header: 'Setting', cell: ({ setting }) => <code className="text-sm">{setting}</code> },
]

function Retention({ rows }: { rows: readonly RetentionRow[] }) {
  return (
    <Section title="Retention" description="Older rows are deleted in short steps." flush>
      <DataTable
        label="Retention"
        columns={retentionColumns}
        rows={rows}
        rowKey={({ setting }) => setting}
        empty={null}
      />
    </Section>
  )
}

type TableRow = Queues['tables'][number]
const tableColumns: readonly Column<TableRow>[] = [
  { key: 'name', header: 'Table', cell: ({ name }) => <code className="text-sm">{name}</code> },
  {
    key: 'rows',
    header: 'Rows',
    align: 'right',
    cell: ({ rows, isEstimate }) => `${isEstimate ? '≈ ' : ''}${formatNumber(rows)}`,
  },
  {
    key: 'bytes',
    header: 'Size',
    align: 'right',
    cell: ({ bytes }) => (bytes === null ? '—' : formatBytes(bytes)),
  },
]

function Storage({ queues: { database, tables } }: { queues: Queues }) {
  const { bytes, freeBytes, logBytes } = database
  const parts = [
    formatBytes(bytes),
    freeBytes === null ? undefined : `${formatBytes(freeBytes)} of it free for new rows`,
    logBytes === null ? undefined : `log ${formatBytes(logBytes)}`,
  ]
  return (
    <Section title="Database" description={parts.filter(Boolean).join('; ')} flush>
      <DataTable
        label="Tables"
        // SQLite does not tell the sizes of its tables.
        columns={tableColumns.filter(
          ({ key }) => key !== 'bytes' || tables.some((one) => one.bytes !== null),
        )}
        rows={tables.filter(({ rows }) => rows > 0)}
        rowKey={({ name }) => name}
        empty={<p className="p-4 text-soft">All tables are empty.</p>}
      />
    </Section>
  )
}
