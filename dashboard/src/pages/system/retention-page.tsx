import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import {
  DataTable,
  durationInWords,
  Fact,
  Facts,
  formatBytes,
  formatNumber,
  Page,
  ReadState,
  scheduleInWords,
  Section,
  Time,
  type Column,
} from '../../ui/index.ts'
import type { Queues } from './queue-facts.tsx'
import { SystemLinks } from './system-links.tsx'
import { useSetting } from './use-setting.ts'

/** How long data is retained, when failed work is retried, and how large the database is. */
export function RetentionPage() {
  const query = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => api.get('/queues', { signal }),
  })
  return (
    <Page
      title="Retention and retries"
      description="How long data is stored, and when failed work is retried. Change these in the environment."
    >
      <SystemLinks />
      <ReadState {...query} />
      {query.data && <Retention rows={query.data.retention} />}
      <Retries />
      {query.data && <Storage queues={query.data} />}
    </Page>
  )
}

type RetentionRow = Queues['retention'][number]

const SettingLink = ({ name }: { name: string }) => (
  <Link to="/system/settings" search={{ q: name }} className="underline">
    <code className="text-sm">{name}</code>
  </Link>
)

const retentionColumns: readonly Column<RetentionRow>[] = [
  {
    key: 'what',
    header: 'Data',
    width: '18rem',
    cell: ({ what }) => <span className="first-letter:uppercase">{whatText[what] ?? what}</span>,
  },
  {
    key: 'period',
    header: 'Stored for',
    cell: ({ seconds }) =>
      seconds === null ? 'Forever' : <span title={`${seconds} seconds`}>{durationInWords(seconds)}</span>,
  },
  {
    key: 'oldest',
    header: 'Oldest',
    cell: ({ oldestAt }) => (oldestAt ? <Time value={oldestAt} /> : '–'),
  },
  { key: 'setting', header: 'Setting', cell: ({ setting }) => <SettingLink name={setting} /> },
]
const whatText: Readonly<Record<string, string>> = {
  events: 'Events, payloads and deliveries',
  'ids of events': 'Event IDs, to detect duplicates',
  'refused webhooks': 'Rejected webhooks',
  'audit log': 'Audit log',
}

function Retention({ rows }: { rows: readonly RetentionRow[] }) {
  return (
    <Section title="Retention" description="Older rows are deleted in batches." flush>
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

function Retries() {
  return (
    <Section title="Retry schedules" description="Each wait varies by up to 20%.">
      <Facts>
        <Schedule name="Handlers" setting="HANDLER_RETRY_SCHEDULE" />
        <Schedule name="Deliveries" setting="EMIT_RETRY_SCHEDULE">
          An endpoint can have its own schedule in its settings.
        </Schedule>
      </Facts>
    </Section>
  )
}

function Schedule({ name, setting, children }: { name: string; setting: string; children?: string }) {
  const found = useSetting(setting)
  return (
    <Fact name={name}>
      {found?.value ? scheduleInWords(found.value) : '…'}
      <span className="block text-sm text-soft">
        {found?.origin === 'default' ? 'Default of ' : 'Set by '}
        <SettingLink name={setting} />. {children}
      </span>
    </Fact>
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
    cell: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
  },
]

function Storage({ queues: { database, tables } }: { queues: Queues }) {
  const { bytes, freeBytes, logBytes } = database
  const parts = [
    formatBytes(bytes),
    freeBytes === null ? undefined : `${formatBytes(freeBytes)} reusable`,
    logBytes === null ? undefined : `write-ahead log ${formatBytes(logBytes)}`,
  ]
  const filled = tables.filter(({ rows }) => rows > 0)
  return (
    <Section title="Database size" description={parts.filter(Boolean).join(', ')} flush>
      <details className="border-t border-line">
        <summary className="min-h-9 cursor-pointer px-4 py-2">
          {filled.length} internal tables with rows
        </summary>
        <DataTable
          label="Tables"
          // SQLite does not report the sizes of its tables.
          columns={tableColumns.filter(
            ({ key }) => key !== 'bytes' || tables.some((one) => one.bytes !== null),
          )}
          rows={filled}
          rowKey={({ name }) => name}
          empty={<p className="p-4 text-soft">All tables are empty.</p>}
        />
      </details>
    </Section>
  )
}
