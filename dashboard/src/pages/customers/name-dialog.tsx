import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import { Button, Dialog, DialogActions, Form, TextField, bindFields } from '../../ui/index.ts'

interface NameDialogProps {
  /** Absent: a new customer. */
  owner?: string
  name?: string | null
  onClose: () => void
  onSaved: (owner: string) => void
}

/** Adds a customer, or edits the display name of one. */
export function NameDialog({ owner, name = null, onClose, onSaved }: NameDialogProps) {
  const client = useQueryClient()
  const [fields, setFields] = useState({ owner: owner ?? '', name: name ?? '' })
  const { text } = bindFields(fields, (change) => setFields({ ...fields, ...change }))
  const id = fields.owner.trim()
  const save = useMutation({
    mutationFn: () =>
      api.put('/owners/{owner}', { params: { owner: id }, body: { name: fields.name.trim() || null } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['subscribers'] })
      onSaved(id)
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Dialog open onClose={onClose} title={owner === undefined ? 'Add customer' : 'Edit display name'}>
      <Form problem={save.error} onSubmit={submit} className="grid gap-4">
        {owner === undefined && (
          <TextField
            label="Customer ID"
            required
            autoFocus
            placeholder="acme"
            hint="The ID of this customer in your product. It cannot be changed later."
            {...text('owner')}
          />
        )}
        <TextField
          label="Display name"
          required={owner === undefined}
          maxLength={100}
          placeholder="Acme Corporation"
          hint={owner === undefined ? undefined : 'Leave it empty to show the ID.'}
          {...text('name')}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {owner === undefined ? 'Add' : 'Save'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
