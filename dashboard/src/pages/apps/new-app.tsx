import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import type { AnswerOf, BodyOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  CheckField,
  Dialog,
  DialogActions,
  Form,
  SelectField,
  TextArea,
  TextField,
} from '../../ui/index.ts'
import { linesOf } from '../../ui/lines.ts'
import { textOf } from './form-values.ts'
import { ShownSecret } from './shown-secret.tsx'

type Created = AnswerOf<'POST /clients'>

const kinds = [
  { value: 'confidential', label: 'Confidential: web app with a server' },
  { value: 'public', label: 'Public: single-page, mobile or command-line app (PKCE)' },
]

/** The form of a new app, and then its secret, which is shown only here. */
export function NewAppDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (body: BodyOf<'POST /clients'>) => api.post('/clients', { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['apps'] }),
  })
  const close = (): void => {
    onClose()
    create.reset()
  }
  return (
    <Dialog open={open} onClose={close} title={create.data ? `${create.data.name} added` : 'Add app'}>
      {create.data ? (
        <NewCredentials app={create.data} onClose={close} />
      ) : (
        <NewAppForm
          error={create.error}
          busy={create.isPending}
          onCancel={close}
          onCreate={(body) => create.mutate(body)}
        />
      )}
    </Dialog>
  )
}

function NewAppForm({
  error,
  busy,
  onCancel,
  onCreate,
}: {
  error: unknown
  busy: boolean
  onCancel: () => void
  onCreate: (body: BodyOf<'POST /clients'>) => void
}) {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    onCreate({
      name: textOf(form, 'name'),
      confidential: form.get('kind') === 'confidential',
      redirectUris: linesOf(textOf(form, 'redirectUris')),
      firstParty: form.get('firstParty') === 'on',
    })
  }
  return (
    <Form problem={error} onSubmit={submit} className="grid gap-4">
      <TextField label="Name" name="name" required maxLength={100} hint="Shown to users when they sign in." />
      <SelectField label="Type" name="kind" options={kinds} />
      <TextArea
        label="Redirect URIs"
        name="redirectUris"
        rows={3}
        placeholder="https://app.example.com/callback"
        hint="One per line. Must match exactly."
      />
      <CheckField label="First-party app" name="firstParty" defaultChecked hint="Skip the consent screen." />
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>
          Add
        </Button>
      </DialogActions>
    </Form>
  )
}

function NewCredentials({ app, onClose }: { app: Created; onClose: () => void }) {
  const navigate = useNavigate()
  const open = (): void => {
    onClose()
    void navigate({ to: '/apps/$id', params: { id: app.id } })
  }
  return (
    <>
      <ShownSecret clientId={app.id} secret={app.secret} />
      <DialogActions>
        <Button kind="primary" onClick={open}>
          Open settings
        </Button>
      </DialogActions>
    </>
  )
}
