import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { Button, Dialog, Fact, Facts, ProblemNotice, toast, useConfirm } from '../../ui/index.ts'
import { valueOf } from './cells.tsx'
import { keyOfRow, type ListDescription, type Row } from './lists.ts'
import { pathOf, RowForm } from './row-form.tsx'

/** All fields of a row, and what can be done with it. */
export function RowDrawer({ list, row, onClose }: { list: ListDescription; row: Row; onClose: () => void }) {
  const [editing, setEditing] = useState(false)
  const confirm = useConfirm()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => api.request('DELETE', pathOf(list, row)),
    onSuccess: async () => {
      toast('Deleted')
      onClose()
      await queries.invalidateQueries({ queryKey: ['list-rows', list.path] })
    },
  })
  const askAndRemove = async (): Promise<void> => {
    const sure = await confirm({
      title: `Delete ${keyOfRow(list, row)}?`,
      consequence: `The row is removed from ${list.path}. This cannot be undone.`,
      action: 'Delete',
    })
    if (sure) remove.mutate()
  }
  if (editing) return <RowForm list={list} row={row} onClose={() => setEditing(false)} />
  return (
    <Dialog open onClose={onClose} place="drawer" title={keyOfRow(list, row)} description={list.path}>
      {remove.error && <ProblemNotice error={remove.error} />}
      {list.writes && (
        <div className="mb-4 flex gap-2">
          <Button onClick={() => setEditing(true)}>Change</Button>
          {list.writes.delete && (
            <Button kind="danger" busy={remove.isPending} onClick={() => void askAndRemove()}>
              Delete
            </Button>
          )}
        </div>
      )}
      <Facts>
        {list.fields.map((field) => (
          <Fact key={field.name} name={field.name}>
            {valueOf(field, row[field.name])}
          </Fact>
        ))}
        {list.expansions
          .filter(({ name }) => name in row)
          .map(({ name }) => (
            <Fact key={name} name={name}>
              {valueOf({ type: 'json' }, row[name])}
            </Fact>
          ))}
      </Facts>
    </Dialog>
  )
}
