import { useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { Button, ProblemNotice, Section, toast, useConfirm } from '../../ui/index.ts'
import type { Subscriber } from '../../webhooks/types.ts'

const route = getRouteApi('/subscribers/$id')

/** What ends deliveries: each asks first and says what it does. */
export function DangerTab({ subscriber: { id, url, status } }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const navigate = route.useNavigate()
  const disable = useMutation({
    mutationFn: () => api.patch('/subscribers/{id}', { params: { id }, body: { status: 'disabled' } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['subscribers'] }),
  })
  const remove = useMutation({
    mutationFn: () => api.delete('/subscribers/{id}', { params: { id } }),
    onSuccess: async () => {
      toast('Endpoint deleted')
      await navigate({ to: '/subscribers' })
      client.removeQueries({ queryKey: ['subscribers', 'one', id] })
      await client.invalidateQueries({ queryKey: ['subscribers'] })
    },
  })
  const askDisable = async (): Promise<void> => {
    const consequence =
      'Nothing is sent, and new events are not stored for it. Pending deliveries are sent when you resume it. The customer cannot resume it.'
    if (await confirm({ title: `Disable ${url}?`, consequence, action: 'Disable' })) disable.mutate()
  }
  const askRemove = async (): Promise<void> => {
    const consequence =
      'It receives no more events, including pending ones. Its secrets and its delivery log are deleted. This cannot be undone.'
    if (await confirm({ title: `Delete ${url}?`, consequence, action: 'Delete endpoint' })) remove.mutate()
  }
  return (
    <Section title="Disable or delete" className="border-danger">
      {(disable.error ?? remove.error) && <ProblemNotice error={disable.error ?? remove.error} />}
      <div className="grid gap-5 sm:grid-cols-[1fr_max-content] sm:items-center sm:[&_button]:w-full">
        <p className="max-w-prose">
          Stops all deliveries. New events are not stored for the endpoint. You can resume it later. To store
          its events, pause it instead.
        </p>
        <Button
          kind="danger"
          disabled={status === 'disabled'}
          busy={disable.isPending}
          onClick={() => void askDisable()}
        >
          {status === 'disabled' ? 'Disabled' : 'Disable'}
        </Button>
        <p className="max-w-prose">
          Deletes the endpoint, its secrets and its delivery log. This cannot be undone.
        </p>
        <Button kind="danger" busy={remove.isPending} onClick={() => void askRemove()}>
          Delete
        </Button>
      </div>
    </Section>
  )
}
