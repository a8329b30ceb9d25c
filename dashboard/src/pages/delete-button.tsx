import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { Button, ProblemNotice, toast, useConfirm } from '../ui/index.ts'

/** Deletes what a page shows, after a question, and opens the list that it was in. */
export function DeleteButton({
  name,
  consequence,
  call,
  list,
  id,
}: {
  name: string
  consequence: string
  call: () => Promise<unknown>
  list: 'apps' | 'users' | 'event-types'
  id: string
}) {
  const ask = useConfirm()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: call,
    onSuccess: async () => {
      toast(`${name} is deleted`)
      await navigate({ to: `/${list}` })
      client.removeQueries({ queryKey: [list, id] })
      await client.invalidateQueries({ queryKey: [list] })
    },
  })
  const onDelete = async (): Promise<void> => {
    const yes = await ask({ title: `Delete ${name}?`, consequence, action: 'Delete' })
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
