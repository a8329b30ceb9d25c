import { getRouteApi } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useRef, useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { startOf, useRange, useSince } from '../../layout/time-range.ts'
import {
  Button,
  DataTable,
  Dialog,
  DownloadLink,
  Empty,
  Fact,
  Facts,
  FilterBar,
  JsonView,
  Page,
  ProblemNotice,
  Progress,
  Section,
  Status,
  Time,
  LinkButton,
  type Column,
  type Filter,
} from '../../ui/index.ts'
import { auditCsv, download, mostExported } from './audit-export.ts'
import { auditQuery, type AuditSearch } from './audit-query.ts'

type Entry = RowOf<'GET /audit'>

const route = getRouteApi('/system/audit')

/** Actions and failed attempts, with their origin. */
export function AuditPage() {
  const { action, userId, actor, target, address, supportId, result } = route.useSearch()
  const search: AuditSearch = { action, userId, actor, target, address, supportId, result }
  const navigate = route.useNavigate()
  const set = (change: Partial<AuditSearch>): void =>
    void navigate({ search: (before) => ({ ...before, ...change }) })
  const [peeked, setPeeked] = useState<Entry>()
  const since = useSince()
  const pages = usePages({
    key: ['audit', search, since],
    read: (cursor, signal) =>
      api.get('/audit', { query: { ...auditQuery(search, since), cursor, limit: '50' }, signal }),
    idOf: ({ id }) => id,
  })
  const entries = pages.rows
  return (
    <Page
      title="Audit log"
      range
      description="Actions by users, administrators and API keys, newest first."
      actions={<Exports search={search} />}
    >
      <FilterBar label="Filter the audit log" filters={filtersOf(entries.map(({ action }) => action))} />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DataTable
          label="Audit log"
          columns={columnsOf(setPeeked)}
          rows={entries}
          rowKey={({ id }) => id}
          loading={pages.loading}
          error={pages.error}
          onMore={pages.onMore}
          loadingMore={pages.loadingMore}
          isCurrent={({ id }) => id === peeked?.id}
          empty={
            <Empty title="No entries">
              No entry matches these filters. Choose a longer time range, or remove a filter.
            </Empty>
          }
        />
      </Section>
      <EntryDrawer entry={peeked} onClose={() => setPeeked(undefined)} onFilter={set} />
    </Page>
  )
}

const columnsOf = (peek: (entry: Entry) => void): readonly Column<Entry>[] => [
  { key: 'at', header: 'Time', width: '11rem', phone: 'secondary', cell: ({ at }) => <Time value={at} /> },
  {
    key: 'action',
    header: 'Action',
    phone: 'primary',
    cell: (entry) => <LinkButton onClick={() => peek(entry)}>{entry.action}</LinkButton>,
  },
  { key: 'by', header: 'By', phone: 'secondary', cell: ({ actor, actorName }) => actorName ?? actor ?? '–' },
  { key: 'about', header: 'About', cell: aboutOf },
  {
    key: 'address',
    header: 'IP address',
    width: '9rem',
    cell: ({ address }) => address ?? '–',
    phone: 'hidden',
  },
  {
    key: 'result',
    header: 'Result',
    width: '11rem',
    phone: 'aside',
    cell: ({ code }) => (code === null ? <Status value="ok" /> : <Status value="failed">{code}</Status>),
  },
]

function aboutOf({ userName, userId, targetName, target, provider }: Entry): string {
  // A session is that of the account, which stands beside it; the drawer has its id.
  const other = userId !== null && target?.startsWith('session:') ? null : (targetName ?? target)
  const names = [userName ?? userId, other].filter((name) => name !== null)
  return names.length > 0 ? names.join(', ') : (provider ?? '–')
}

function EntryDrawer({
  entry,
  onClose,
  onFilter,
}: {
  entry: Entry | undefined
  onClose: () => void
  onFilter: (change: Partial<AuditSearch>) => void
}) {
  if (!entry) return null
  const filter = (label: string, change: Partial<AuditSearch>) => (
    <Button
      small
      onClick={() => {
        onClose()
        onFilter(change)
      }}
    >
      {label}
    </Button>
  )
  const { action, at, userId, userName, actor, actorName, target, targetName, address, code, detail } = entry
  const named = (name: string | null, id: string): string => (name === null ? id : `${name} (${id})`)
  return (
    <Dialog open onClose={onClose} title={action} place="drawer">
      <Facts>
        <Fact name="Time">
          <Time value={at} />
        </Fact>
        <Fact name="Result">
          {code === null ? <Status value="ok" /> : <Status value="failed">{code}</Status>}
        </Fact>
        {actor !== null && <Fact name="By">{named(actorName, actor)}</Fact>}
        {userId !== null && <Fact name="User">{named(userName, userId)}</Fact>}
        {target !== null && <Fact name="Target">{named(targetName, target)}</Fact>}
        {entry.provider !== null && (
          <Fact name="Provider">
            {entry.provider} {entry.providerId}
          </Fact>
        )}
        {address !== null && <Fact name="IP address">{address}</Fact>}
        {entry.userAgent !== null && <Fact name="Browser">{entry.userAgent}</Fact>}
        {entry.sessionId !== null && <Fact name="Session">{entry.sessionId}</Fact>}
        {entry.supportId !== null && <Fact name="Reference ID">{entry.supportId}</Fact>}
      </Facts>
      {detail !== null && (
        <div className="mt-4">
          <JsonView text={JSON.stringify(detail)} label="Detail" />
        </div>
      )}
      <div className="mt-5 flex flex-wrap gap-2">
        {filter('Filter by action', { action })}
        {actor !== null && filter('Filter by actor', { actor })}
        {userId !== null && filter('Filter by user', { userId })}
        {target !== null && filter('Filter by target', { target })}
        {address !== null && filter('Filter by IP address', { address })}
      </div>
    </Dialog>
  )
}

const filtersOf = (actions: readonly string[]): readonly Filter[] => [
  { name: 'action', label: 'Action', placeholder: 'user.blocked', suggestions: actions },
  { name: 'actor', label: 'By', placeholder: 'user:… or key:…' },
  {
    name: 'result',
    label: 'Result',
    options: [
      { value: '', label: 'All results' },
      { value: 'failed', label: 'Failures' },
      { value: 'succeeded', label: 'Successes' },
    ],
  },
  { name: 'userId', label: 'User ID', more: true },
  { name: 'target', label: 'Target', placeholder: 'subscriber:…', more: true },
  { name: 'address', label: 'IP address', placeholder: '192.0.2.1', more: true },
  { name: 'supportId', label: 'Reference ID', placeholder: '5c198bca', more: true },
]

/** NDJSON of the whole log in the time range, and CSV of what the filters show. */
function Exports({ search }: { search: AuditSearch }) {
  const range = useRange()
  const stopping = useRef<AbortController>(undefined)
  const [count, setCount] = useState<number>()
  const [error, setError] = useState<unknown>()
  const save = async (): Promise<void> => {
    const stop = (stopping.current = new AbortController())
    setError(undefined)
    setCount(0)
    try {
      const text = await auditCsv(auditQuery(search, startOf(range)), setCount, stop.signal)
      download(text, 'audit.csv', 'text/csv')
    } catch (problem) {
      if (!stop.signal.aborted) setError(problem)
    }
    setCount(undefined)
  }
  const query = new URLSearchParams({ since: startOf(range) })
  return (
    <>
      {count !== undefined && (
        <Progress label="Exported" value={count} onStop={() => stopping.current?.abort()} />
      )}
      {error !== undefined && <ProblemNotice error={error} />}
      <Button
        icon={<Download size={16} aria-hidden />}
        busy={count !== undefined}
        title={`Up to ${mostExported} entries that match the filters`}
        onClick={() => void save()}
      >
        Export CSV
      </Button>
      <DownloadLink
        href={addressOf(`/audit/export?${query.toString()}`)}
        title="All entries in the time range"
      >
        Export NDJSON
      </DownloadLink>
    </>
  )
}
