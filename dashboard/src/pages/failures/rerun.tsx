import { progressEvery } from '../../api/refresh.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Button, Notice, ProblemNotice, Progress, useConfirm } from '../../ui/index.ts'
import { waitingOf, type Group } from './group-columns.tsx'

/** Runs all events of a group now, with the progress of the job and a button to stop it. */
export function useRerun(group: Pick<Group, 'id' | 'failed' | 'retrying'>) {
  const confirm = useConfirm()
  const client = useQueryClient()
  const [job, setJob] = useState<string>()
  const start = useMutation({
    mutationFn: () => api.post('/failures/{id}/rerun', { params: { id: group.id } }),
    onSuccess: ({ id }) => setJob(id),
  })
  const progress = useQuery({
    queryKey: ['jobs', job],
    enabled: job !== undefined,
    queryFn: async ({ signal }) => {
      const found = await api.get('/jobs/{id}', { params: { id: job! }, signal })
      if (found.status !== 'running') await client.invalidateQueries({ queryKey: ['failures'] })
      return found
    },
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'running' ? false : progressEvery),
  })
  const stop = useMutation({
    mutationFn: () => api.delete('/jobs/{id}', { params: { id: job! } }),
    onSettled: () => progress.refetch(),
  })
  const ask = async (): Promise<void> => {
    const yes = await confirm({
      title: 'Run these events again?',
      consequence: `Runs the handler now for these events: ${waitingOf(group)}. Failed events get all attempts of the retry schedule again.`,
      action: 'Run again',
      kind: 'primary',
    })
    if (yes) start.mutate()
  }
  const running = progress.data?.status === 'running'
  const button = (
    <Button
      kind="primary"
      icon={<Play size={16} aria-hidden />}
      busy={start.isPending || running}
      disabled={group.failed + group.retrying === 0}
      onClick={() => void ask()}
    >
      Run all again
    </Button>
  )
  const report = (
    <>
      {(start.error ?? stop.error) && <ProblemNotice error={start.error ?? stop.error} />}
      {progress.data && (
        <Notice>
          {running ? (
            <Progress
              label="Events queued"
              value={progress.data.done}
              total={progress.data.total}
              onStop={() => stop.mutate()}
            />
          ) : (
            `${progress.data.done} of ${progress.data.total} events queued to run again${progress.data.status === 'cancelled' ? '; stopped' : ''}.`
          )}
        </Notice>
      )}
    </>
  )
  return { button, report }
}
