import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { api } from '../../api/client.ts'
import { Button, useConfirm } from '../../ui/index.ts'
import type { Handler } from './handler-health.tsx'

/** Pauses a handler after a question, and resumes it without one. */
export function usePause() {
  const confirm = useConfirm()
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: ({ id, paused }: Handler) =>
      paused
        ? api.post('/handlers/{id}/resume', { params: { id } })
        : api.post('/handlers/{id}/pause', { params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['handlers'] }),
  })
  const ask = async (handler: Handler): Promise<void> => {
    const yes =
      handler.paused !== null ||
      (await confirm({
        title: `Pause ${handler.id}?`,
        consequence:
          'New events are accepted and wait until you resume it, including events that other handlers also match. Runs in progress finish.',
        action: 'Pause',
      }))
    if (yes) change.mutate(handler)
  }
  return { ...change, ask }
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
      onClick={() => void pause.ask(handler)}
    >
      {word}
    </Button>
  )
}
