import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  CopyButton,
  Dialog,
  DialogActions,
  Form,
  Notice,
  SelectField,
  TextField,
} from '../../ui/index.ts'

type NewInvitation = AnswerOf<'POST /invitations'>

/** Seconds. */
const day = 86_400
const ends = [
  { value: String(day), label: 'In 1 day' },
  { value: String(7 * day), label: 'In 7 days' },
  { value: String(30 * day), label: 'In 30 days' },
]
const roles = [
  { value: 'user', label: 'User' },
  { value: 'admin', label: 'Admin' },
]

/** Creates an invitation, and shows its link this once. */
export function InviteDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [made, setMade] = useState<NewInvitation>()
  const close = (): void => {
    setMade(undefined)
    onClose()
  }
  return (
    <Dialog open={open} onClose={close} title={made ? 'Invitation created' : 'Invite a person'}>
      {made ? <Made made={made} onClose={close} /> : <InviteForm onMade={setMade} onClose={close} />}
    </Dialog>
  )
}

function InviteForm({ onMade, onClose }: { onMade: (made: NewInvitation) => void; onClose: () => void }) {
  const queryClient = useQueryClient()
  const [fields, setFields] = useState({ email: '', role: 'user', groups: '', expiresIn: String(7 * day) })
  const bind = (name: keyof typeof fields) => ({
    name,
    value: fields[name],
    onChange: ({ target }: { target: { value: string } }) => setFields({ ...fields, [name]: target.value }),
  })
  const invite = useMutation({
    mutationFn: () => {
      const email = fields.email.trim()
      const groups = fields.groups.split(',').map((group) => group.trim())
      return api.post('/invitations', {
        body: {
          ...(email !== '' && { email }),
          role: fields.role === 'admin' ? 'admin' : 'user',
          groups: [...new Set(groups.filter((group) => group !== ''))],
          expiresIn: Number(fields.expiresIn),
        },
      })
    },
    onSuccess: (made) => {
      onMade(made)
      void queryClient.invalidateQueries({ queryKey: ['invitations'] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    invite.mutate()
  }
  return (
    <Form problem={invite.error} onSubmit={submit}>
      <TextField
        label="Email address"
        hint="The person must sign in with this address, verified by a provider. Leave it empty for anyone with the link."
        type="email"
        maxLength={320}
        placeholder="ada@example.com"
        {...bind('email')}
      />
      <div className="mt-4 grid gap-3 sm:grid-cols-2">
        <SelectField label="Role" options={roles} {...bind('role')} />
        <SelectField label="Expires" options={ends} {...bind('expiresIn')} />
      </div>
      <div className="mt-4">
        <TextField
          label="Groups"
          hint="Separated by commas. Apps see them in the groups claim."
          maxLength={2000}
          placeholder="staff, support"
          {...bind('groups')}
        />
      </div>
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={invite.isPending}>
          Create link
        </Button>
      </DialogActions>
    </Form>
  )
}

function Made({ made: { url, email }, onClose }: { made: NewInvitation; onClose: () => void }) {
  return (
    <>
      <Notice tone="warn">Copy the link now. You will not see it again.</Notice>
      <div className="flex flex-wrap items-center gap-2 rounded-md border border-line bg-sunken p-3">
        <code aria-label="The link" className="min-w-0 flex-1 font-mono text-sm break-all">
          {url}
        </code>
        <CopyButton text={url} label="Copy the link">
          Copy
        </CopyButton>
      </div>
      <p className="mt-4 text-sm text-soft">
        {email === null ? 'Send it to one person: it works once.' : `Send it to ${email}. It works once.`}
      </p>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </>
  )
}
