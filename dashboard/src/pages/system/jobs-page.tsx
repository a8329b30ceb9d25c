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
  SelectField,
  Status,
  Time,
  toast,
  useConfirm,
  type Column,
} from '../../ui/index.ts'
import { SystemLinks } from './system-links.tsx'

type Job = RowOf<'GET /jobs'>

const route = getRouteApi('/system/jobs')
const kinds = [
  { value: '', label: 'All kinds' },
  { value: 'replay', label: 'Replay of deliveries' },
  { value: 'reprocess', label: 'Reprocessing of events' },
]
const kindText = { replay: 'Replay deliveries', reprocess: 'Run events again' } as const
const statuses = [
  { value: '', label: 'All states' },
  ...['running', 'done', 'cancelled', 'failed'].map((value) => ({ value, label: value })),
]

/** Jobs that work on many rows, with their progress. */
export function JobsPage() {
  const { kind, status } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: { kind?: string; status?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  const { rows, error, retry, loading, onMore, loadingMore } = usePages({
    key: ['jobs', kind, status],
    read: (cursor, signal) => api.get('/jobs', { query: { kind, status, cursor, limit: '50' }, signal }),
    idOf: ({ id }) => id,
    refresh: (jobs) => (jobs.some((job) => job.status === 'running') ? progressEvery : refreshEvery),
  })
  return (
    <Page title="Jobs" description="Replays and reprocessing of many rows, newest first.">
      <SystemLinks />
      <div className="mb-4 flex flex-wrap gap-3">
        <SelectField
          label="Kind"
          hideLabel
          options={kinds}
          value={kind ?? ''}
          onChange={({ target }) => set({ kind: target.value })}
        />
        <SelectField
          label="State"
          hideLabel
          options={statuses}
          value={status ?? ''}
          onChange={({ target }) => set({ status: target.value })}
        />
      </div>
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
    onSuccess: () => toast('The job was cancelled'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const confirmCancel = async ({ id, done, total }: Job): Promise<void> => {
    const left = total - done
    const yes = await ask({
      title: 'Cancel this job?',
      consequence: `${formatNumber(Math.max(0, left))} rows are left as they are. What is done is not undone.`,
      action: 'Cancel the job',
      keep: 'Let it run',
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
            <Empty title="No jobs yet" command="npx postern replay events --source provider">
              A job is begun when many deliveries are replayed, or many failed events are run again.
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
    header: 'Of',
    cell: ({ subscriberId, subscriberName }) =>
      subscriberId === null ? (
        'received events'
      ) : (
        <Link to={`/subscribers/${subscriberId}` as '/subscribers'} className="underline">
          {subscriberName ?? subscriberId}
        </Link>
      ),
  },
  {
    key: 'progress',
    header: 'Progress',
    width: '14rem',
    cell: ({ done, total, status }) => (
      <span className="flex items-center gap-2">
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
  { key: 'created', header: 'Started', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
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
