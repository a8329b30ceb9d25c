import { useMutation } from '@tanstack/react-query'
import { Drama } from 'lucide-react'
import { useState, type FormEvent } from 'react'
import type { UserDetail } from '../../api/answers.ts'
import { boot } from '../../api/boot.ts'
import { api } from '../../api/client.ts'
import { Button, Dialog, DialogActions, Form, TextField } from '../../ui/index.ts'

/** Opens a session as the user in this browser. Each page then has a banner of the service, with the way back. */
export function ActForUser({ user: { id, name, email } }: { user: UserDetail }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon={<Drama size={16} aria-hidden />} onClick={() => setOpen(true)}>
        Act for user
      </Button>
      {open && <ReasonDialog id={id} name={name ?? email ?? id} onClose={() => setOpen(false)} />}
    </>
  )
}

function ReasonDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const start = useMutation({
    mutationFn: () =>
      api.post('/users/{id}/impersonate', { params: { id }, body: { reason: reason.trim() } }),
    // The whole page: nothing that was read as the administrator stays.
    onSuccess: () => location.assign(`${boot.basePath}/dashboard`),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <Dialog open onClose={onClose} title={`Act for ${name}?`}>
      <Form problem={start.error} onSubmit={submit} className="grid gap-4">
        <p>
          For up to an hour, this browser sees what the user sees, in the apps that they sign in to as well.
          You cannot change anything in their account.
        </p>
        <TextField
          label="Reason"
          required
          autoFocus
          maxLength={200}
          placeholder="Ticket 4711"
          hint="The user sees it with your name in the list of their devices. The audit log has it, too."
          value={reason}
          onChange={({ target }) => setReason(target.value)}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={start.isPending}>
            Act for user
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
