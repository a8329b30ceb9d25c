import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { api } from '../../api/client.ts'
import { Button, toast } from '../../ui/index.ts'

/** Runs the handlers of one event now. */
export function useRunNow(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => api.post('/events/{id}/reprocess', { params: { id }, body: {} }),
    onSuccess: () => toast('The handler runs now'),
    onSettled: () => client.invalidateQueries({ queryKey: ['event', id] }),
  })
}

export function RunNowButton({ run }: { run: ReturnType<typeof useRunNow> }) {
  return (
    <Button
      kind="primary"
      icon={<Play size={16} aria-hidden />}
      busy={run.isPending}
      onClick={() => run.mutate()}
    >
      Run now
    </Button>
  )
}
