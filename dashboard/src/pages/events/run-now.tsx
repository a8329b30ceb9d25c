import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { Button, toast } from '../../ui/index.ts'
import { runEvent } from './run-event.ts'

/** Runs the handlers of one event now, and says whether they succeeded. */
export function useRunNow(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => runEvent(id),
    onSuccess: (result) => toast(result),
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
