import { useMutation, useQuery } from '@tanstack/react-query'
import type { RowOf } from '../api/answers.ts'
import { progressEvery, refreshEvery } from '../api/refresh.ts'
import { Status } from '../ui/badge.tsx'
import type { Column } from '../ui/column.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { formatNumber } from '../ui/format.ts'
import { Empty, ProblemNotice, Progress } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useCalls, useRefresh } from './calls.ts'

type Job = RowOf<'GET /subscribers/{id}/jobs'>

const columns: readonly Column<Job>[] = [
  { key: 'status', header: 'Status', width: '8rem', cell: ({ status }) => <Status value={status} /> },
  {
    key: 'count',
    header: 'Queued',
    phone: 'primary',
    cell: ({ done, total }) => `${formatNumber(done)} of ${formatNumber(total)}`,
  },
  {
    key: 'rate',
    header: 'Rate',
    cell: ({ rate }) => (rate === null ? 'no limit' : `${formatNumber(rate)} per second`),
  },
  { key: 'begun', header: 'Started', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'changed',
    header: 'Ended',
    width: '11rem',
    cell: ({ status, updatedAt }) => (status === 'running' ? '–' : <Time value={updatedAt} />),
  },
]

/** The newest replays of an endpoint. One in progress can be stopped. */
export function ReplayJobs({ id }: { id: string }) {
  const calls = useCalls()
  const { data, error } = useQuery({
    queryKey: ['jobs', 'of', id],
    queryFn: ({ signal }) => calls.jobs(id, signal),
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'running') ? progressEvery : refreshEvery,
  })
  const jobs = data ?? []
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
          empty={<Empty title="No replays yet">Count deliveries above, then replay them.</Empty>}
        />
      </Section>
    </>
  )
}

function Running({ job: { id, done, total, rate } }: { job: Job }) {
  const confirm = useConfirm()
  const { stopJob } = useCalls()
  const stop = useMutation({ mutationFn: () => stopJob(id), onSuccess: useRefresh() })
  const ask = async (): Promise<void> => {
    const question = {
      title: 'Stop the replay?',
      consequence: `${formatNumber(total - done)} of ${formatNumber(total)} deliveries will not be sent again. Those already queued will.`,
      action: 'Stop the replay',
      keep: 'Continue',
    }
    if (await confirm(question)) stop.mutate()
  }
  const label = rate === null ? 'Queued' : `Queued, ${formatNumber(rate)} per second`
  return (
    <Section title="Replay in progress">
      <Progress label={label} value={done} total={total} onStop={() => void ask()} />
      {stop.error && <ProblemNotice error={stop.error} />}
    </Section>
  )
}
