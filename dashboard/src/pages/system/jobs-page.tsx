import { commandLine } from '../../api/boot.ts'
import { progressEvery, refreshEvery } from '../../api/refresh.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  Button,
  DataTable,
  Empty,
  formatNumber,
  Page,
  ProblemNotice,
  Section,
  FilterBar,
  Status,
  statusWord,
  Time,
  toast,
  useConfirm,
  type Column,
  type Filter,
} from '../../ui/index.ts'
import { SystemLinks } from './system-links.tsx'

type Job = RowOf<'GET /jobs'>

const route = getRouteApi('/system/jobs')
const kinds = [
  { value: '', label: 'All kinds' },
  { value: 'replay', label: 'Delivery replays' },
  { value: 'reprocess', label: 'Event reruns' },
]
const kindText = { replay: 'Replay deliveries', reprocess: 'Run events again' } as const
const statuses = [
  { value: '', label: 'All states' },
  ...['running', 'done', 'cancelled', 'failed'].map((value) => ({ value, label: statusWord(value) })),
]

const filters: readonly Filter[] = [
  { name: 'kind', label: 'Kind', options: kinds },
  { name: 'status', label: 'State', options: statuses },
]

/** Jobs that work on many rows, with their progress. */
export function JobsPage() {
  const { kind, status } = route.useSearch()
  const { rows, error, retry, loading, onMore, loadingMore } = usePages({
    key: ['jobs', kind, status],
    read: (cursor, signal) => api.get('/jobs', { query: { kind, status, cursor, limit: '50' }, signal }),
    idOf: ({ id }) => id,
    refresh: (jobs) => (jobs.some((job) => job.status === 'running') ? progressEvery : refreshEvery),
  })
  return (
    <Page title="Jobs" description="Replays and reruns of many events or deliveries, newest first.">
      <SystemLinks />
      <FilterBar label="Filter jobs" filters={filters} />
      {error && <ProblemNotice error={error} retry={retry} />}
      <Section flush>
        <JobTable
          jobs={rows}
          loading={loading}
          error={error}
          filtered={kind !== undefined || status !== undefined}
          onMore={onMore}
          loadingMore={loadingMore}
        />
      </Section>
    </Page>
  )
}

interface JobTableProps {
  jobs: readonly Job[]
  loading: boolean
  error: unknown
  filtered: boolean
  onMore: (() => void) | undefined
  loadingMore: boolean
}

function JobTable({ jobs, loading, error, filtered, onMore, loadingMore }: JobTableProps) {
  const ask = useConfirm()
  const queryClient = useQueryClient()
  const cancel = useMutation({
    mutationFn: (id: string) => api.delete('/jobs/{id}', { params: { id } }),
    onSuccess: () => toast('Job canceled'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const confirmCancel = async ({ id, done, total }: Job): Promise<void> => {
    const left = total - done
    const yes = await ask({
      title: 'Cancel this job?',
      consequence: `The remaining ${formatNumber(Math.max(0, left))} are not processed. Completed ones are not undone.`,
      action: 'Cancel job',
      keep: 'Keep running',
    })
    if (yes) cancel.mutate(id)
  }
  return (
    <>
      {cancel.error && (
        <div className="p-3">
          <ProblemNotice error={cancel.error} />
        </div>
      )}
      <DataTable
        label="Jobs"
        columns={columnsOf((job) => void confirmCancel(job))}
        rows={jobs}
        rowKey={({ id }) => id}
        loading={loading}
        error={error}
        onMore={onMore}
        loadingMore={loadingMore}
        empty={
          filtered ? (
            <Empty title="No job matches these filters" />
          ) : (
            <Empty title="No jobs yet" command={commandLine('replay events --source provider')}>
              A job starts when you replay many deliveries or run many failed events again.
            </Empty>
          )
        }
      />
    </>
  )
}

const columnsOf = (cancel: (job: Job) => void): readonly Column<Job>[] => [
  { key: 'kind', header: 'Job', width: '11rem', cell: ({ kind }) => kindText[kind] },
  {
    key: 'of',
    header: 'For',
    phone: 'hidden',
    cell: ({ subscriberId, subscriberName }) =>
      subscriberId === null ? (
        'Received events'
      ) : (
        <Link to={`/subscribers/${subscriberId}` as '/subscribers'}>{subscriberName ?? subscriberId}</Link>
      ),
  },
  {
    key: 'progress',
    header: 'Progress',
    phone: 'secondary',
    width: '14rem',
    cell: ({ done, total, status }) => (
      <span className="inline-flex items-center gap-2">
        {status === 'running' && (
          <progress aria-label="Progress" className="h-2 w-20" value={done} max={Math.max(total, 1)} />
        )}
        <span className="tabular-nums">
          {formatNumber(done)} of {formatNumber(total)}
        </span>
      </span>
    ),
  },
  { key: 'status', header: 'State', width: '7rem', cell: ({ status }) => <Status value={status} /> },
  {
    key: 'created',
    header: 'Started',
    width: '11rem',
    phone: 'secondary',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    key: 'ended',
    header: 'Ended',
    width: '11rem',
    cell: ({ status, updatedAt }) => (status === 'running' ? '–' : <Time value={updatedAt} />),
  },
  {
    key: 'actions',
    header: <span className="sr-only">Actions</span>,
    width: '8rem',
    align: 'right',
    cell: (job) =>
      job.status === 'running' && (
        <Button small kind="danger" onClick={() => cancel(job)}>
          Cancel…
        </Button>
      ),
  },
]
