import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import type { UserDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, ProblemNotice, toast, useConfirm } from '../../ui/index.ts'

export function DeleteUser({ user }: { user: UserDetail }) {
  const ask = useConfirm()
  const client = useQueryClient()
  const navigate = useNavigate()
  const name = user.name ?? user.email ?? user.id
  const remove = useMutation({
    mutationFn: () => api.delete('/users/{id}', { params: { id: user.id } }),
    onSuccess: async () => {
      toast(`${name} is deleted`)
      await navigate({ to: '/users' })
      await client.invalidateQueries({ queryKey: ['users'] })
    },
  })
  const onDelete = async (): Promise<void> => {
    const yes = await ask({
      title: `Delete ${name}?`,
      consequence:
        'The account, its identities, sessions, consents and tokens are removed at once. The audit log and events keep what names this person until their periods end. This cannot be undone.',
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
