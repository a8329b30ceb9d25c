import { progressEvery, refreshEvery } from '../../api/refresh.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  DataTable,
  Empty,
  ProblemNotice,
  Progress,
  Section,
  Status,
  Time,
  formatNumber,
  useConfirm,
  type Column,
} from '../../ui/index.ts'

type Job = RowOf<'GET /subscribers/{id}/jobs'>

const columns: readonly Column<Job>[] = [
  { key: 'status', header: 'Status', width: '8rem', cell: ({ status }) => <Status value={status} /> },
  {
    key: 'count',
    header: 'Queued',
    cell: ({ done, total }) => `${formatNumber(done)} of ${formatNumber(total)}`,
  },
  {
    key: 'rate',
    header: 'Rate',
    cell: ({ rate }) => (rate === null ? 'no limit' : `${formatNumber(rate)} a second at most`),
  },
  { key: 'begun', header: 'Started', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'changed',
    header: 'Ended',
    width: '11rem',
    cell: ({ status, updatedAt }) => (status === 'running' ? '–' : <Time value={updatedAt} />),
  },
]

/** The newest replays of a subscriber; one that runs has progress and a stop. */
export function ReplayJobs({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['jobs', 'of', id],
    queryFn: ({ signal }) => api.get('/subscribers/{id}/jobs', { params: { id }, signal }),
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'running') ? progressEvery : refreshEvery,
  })
  const jobs = data?.data ?? []
  return (
    <>
      {error && <ProblemNotice error={error} />}
      {jobs
        .filter(({ status }) => status === 'running')
        .map((job) => (
          <Running key={job.id} job={job} />
        ))}
      <Section title="Replays" flush>
        <DataTable
          label="Replays"
          columns={columns}
          rows={jobs}
          rowKey={(job) => job.id}
          loading={data === undefined && !error}
          error={error}
          empty={<Empty title="No replay yet">Count deliveries above, then send them again.</Empty>}
        />
      </Section>
    </>
  )
}

function Running({ job: { id, done, total, rate } }: { job: Job }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const stop = useMutation({
    mutationFn: () => api.delete('/jobs/{id}', { params: { id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const ask = async (): Promise<void> => {
    const question = {
      title: 'Stop the replay?',
      consequence: `${formatNumber(total - done)} of ${formatNumber(total)} deliveries are then not sent again. Those that are queued already are sent.`,
      action: 'Stop the replay',
      keep: 'Go on',
    }
    if (await confirm(question)) stop.mutate()
  }
  const label = rate === null ? 'Queued' : `Queued, ${formatNumber(rate)} a second at most`
  return (
    <Section title="A replay runs">
      <Progress label={label} value={done} total={total} onStop={() => void ask()} />
      {stop.error && <ProblemNotice error={stop.error} />}
    </Section>
  )
}
