import { progressEvery } from '../../api/refresh.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Button, formatNumber, ProblemNotice, Progress, toast, useConfirm } from '../../ui/index.ts'
import type { Chosen } from './filter.ts'

/** Runs all received events that match the filters, as a job of the service: handlers process only these. */
export function RunMatching({ filter, chosen }: { filter: Record<string, string>; chosen: Chosen }) {
  const confirm = useConfirm()
  const [job, setJob] = useState<string>()
  const body = {
    status: chosen.status === 'retrying' ? 'retrying' : 'failed',
    ...(chosen.type !== undefined && { type: chosen.type }),
    ...(chosen.source !== undefined && { source: chosen.source }),
    ...(filter['since'] !== undefined && { since: filter['since'] }),
    ...(filter['until'] !== undefined && { until: filter['until'] }),
  }
  const begin = useMutation({
    mutationFn: async () => {
      const counted = await api.post('/events/reprocess', { body: { ...body, dryRun: true } })
      const yes = await confirm({
        title: `Run ${formatNumber(counted.total)} events now?`,
        consequence:
          'Their handlers run again in small steps. You can stop this. Events that already ran stay as they are.',
        action: 'Run all',
        kind: 'primary',
      })
      if (!yes) return
      const begun = await api.post('/events/reprocess', { body })
      if ('id' in begun) setJob(begun.id)
    },
  })
  // An order key or an id selects what the job cannot.
  if (chosen.eventId !== undefined || chosen.orderKey !== undefined || chosen.direction === 'emitted')
    return null
  return (
    <div className="mb-3">
      {job === undefined ? (
        <Button small busy={begin.isPending} onClick={() => begin.mutate()}>
          Run all that match
        </Button>
      ) : (
        <JobProgress id={job} onEnd={() => setJob(undefined)} />
      )}
      {begin.error && <ProblemNotice error={begin.error} />}
    </div>
  )
}

function JobProgress({ id, onEnd }: { id: string; onEnd: () => void }) {
  const { data: job } = useQuery({
    queryKey: ['jobs', id],
    queryFn: async ({ signal }) => {
      const job = await api.get('/jobs/{id}', { params: { id }, signal })
      if (job.status !== 'running') {
        toast(
          `${formatNumber(job.done)} events queued to run${job.status === 'cancelled' ? '; stopped' : ''}`,
        )
        onEnd()
      }
      return job
    },
    refetchInterval: progressEvery,
  })
  const stop = useMutation({ mutationFn: () => api.delete('/jobs/{id}', { params: { id } }) })
  return (
    <Progress
      label="Running"
      value={job?.done ?? 0}
      {...(job && { total: job.total })}
      onStop={() => stop.mutate()}
    />
  )
}
