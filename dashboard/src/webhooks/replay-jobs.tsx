import { useMutation, useQuery } from '@tanstack/react-query'
import type { RowOf } from '../api/answers.ts'
import { progressEvery, refreshEvery } from '../api/refresh.ts'
import { fill, pluralOf, words } from '../language/words.ts'
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

const columns = (): readonly Column<Job>[] => [
  {
    key: 'status',
    header: words.replays.status,
    width: '10rem',
    cell: ({ status }) => <Status value={status} />,
  },
  {
    key: 'count',
    header: words.replays.queued,
    phone: 'primary',
    cell: ({ done, total }) =>
      fill(words.replays.done, { done: formatNumber(done), total: formatNumber(total) }),
  },
  {
    key: 'rate',
    header: words.replays.rateColumn,
    cell: ({ rate }) =>
      rate === null ? words.replays.noLimit : fill(words.replays.perSecond, { rate: formatNumber(rate) }),
  },
  {
    key: 'begun',
    header: words.replays.started,
    width: '11rem',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    key: 'changed',
    header: words.replays.ended,
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
      <Section title={words.replays.list} flush>
        <DataTable
          label={words.replays.list}
          columns={columns()}
          rows={jobs}
          rowKey={(job) => job.id}
          loading={data === undefined && !error}
          error={error}
          empty={<Empty title={words.replays.none}>{words.replays.noneHint}</Empty>}
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
      title: words.replays.stopTitle,
      consequence: fill(pluralOf(words.replays.stopConsequence, total), {
        left: formatNumber(total - done),
        total: formatNumber(total),
      }),
      action: words.replays.stop,
      keep: words.replays.goOn,
    }
    if (await confirm(question)) stop.mutate()
  }
  const label =
    rate === null ? words.replays.queued : fill(words.replays.queuedAt, { rate: formatNumber(rate) })
  return (
    <Section title={words.replays.running}>
      <Progress label={label} value={done} total={total} onStop={() => void ask()} />
      {stop.error && <ProblemNotice error={stop.error} />}
    </Section>
  )
}
