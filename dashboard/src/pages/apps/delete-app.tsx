import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import type { AppDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, ProblemNotice, toast, useConfirm } from '../../ui/index.ts'

export function DeleteApp({ app: { id, name } }: { app: AppDetail }) {
  const ask = useConfirm()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => api.delete('/clients/{id}', { params: { id } }),
    onSuccess: async () => {
      toast(`${name} is deleted`)
      await navigate({ to: '/apps' })
      client.removeQueries({ queryKey: ['apps', id] })
      await client.invalidateQueries({ queryKey: ['apps'] })
    },
  })
  const onDelete = async (): Promise<void> => {
    const yes = await ask({
      title: `Delete ${name}?`,
      consequence:
        'Nobody can sign in with it any more. All its tokens and secrets are refused at once, and the consents of its users are removed. This cannot be undone.',
      action: 'Delete',
    })
    if (yes) remove.mutate()
  }
  return (
    <>
      <Button
        kind="danger"
        icon={<Trash2 size={16} aria-hidden />}
        busy={remove.isPending}
        onClick={() => void onDelete()}
      >
        Delete
      </Button>
      {remove.error && (
        <div className="basis-full">
          <ProblemNotice error={remove.error} />
        </div>
      )}
    </>
  )
}
