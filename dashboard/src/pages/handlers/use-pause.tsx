import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { api } from '../../api/client.ts'
import { Button, toast } from '../../ui/index.ts'
import type { Handler } from './handler-health.tsx'

/** Pauses and resumes handlers. A pause needs no question: nothing is lost, and the toast resumes it. */
export function usePause() {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: ({ id, paused }: Pick<Handler, 'id' | 'paused'>) =>
      paused
        ? api.post('/handlers/{id}/resume', { params: { id } })
        : api.post('/handlers/{id}/pause', { params: { id } }),
    onSuccess: ({ id, paused }) => {
      if (paused === null) return
      toast(`${id} is paused`, {
        description: 'New events are accepted and wait until you resume it. Runs in progress finish.',
        action: { label: 'Resume', onClick: () => change.mutate({ id, paused }) },
      })
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['handlers'] }),
  })
  return change
}

export function PauseButton({
  handler,
  pause,
  small = false,
}: {
  handler: Handler
  pause: ReturnType<typeof usePause>
  small?: boolean
}) {
  const { id, paused } = handler
  const word = paused ? 'Resume' : 'Pause'
  return (
    <Button
      small={small}
      aria-label={`${word} ${id}`}
      icon={paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
      busy={pause.isPending && pause.variables?.id === id}
      onClick={() => pause.mutate(handler)}
    >
      {word}
    </Button>
  )
}
