import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AnswerOf, AppDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  DataTable,
  Dialog,
  Empty,
  ProblemNotice,
  Section,
  Time,
  toast,
  useConfirm,
  type Column,
  actionColumn,
} from '../../ui/index.ts'
import { ShownSecret } from './shown-secret.tsx'

type Secret = AppDetail['secrets'][number]
type NewSecret = AnswerOf<'POST /clients/{id}/secrets'>

/** Up to two secrets at a time, so that one can be replaced without an outage. */
export function AppSecrets({ app }: { app: AppDetail }) {
  const ask = useConfirm()
  const client = useQueryClient()
  const [shown, setShown] = useState<NewSecret>()
  const after = () => client.invalidateQueries({ queryKey: ['apps'] })
  const add = useMutation({
    mutationFn: () => api.post('/clients/{id}/secrets', { params: { id: app.id }, body: {} }),
    onSuccess: (secret) => {
      setShown(secret)
      return after()
    },
  })
  const remove = useMutation({
    mutationFn: ({ id }: Secret) =>
      api.delete('/clients/{id}/secrets/{secretId}', { params: { id: app.id, secretId: id } }),
    onSuccess: () => {
      toast('Secret removed')
      return after()
    },
  })
  const onAdd = async (): Promise<void> => {
    const yes = await ask({
      title: `Add a secret for ${app.name}?`,
      consequence:
        app.secrets.length > 1
          ? 'The oldest secret stops working immediately, the other one in 24 hours. The new secret is shown once.'
          : 'The current secret stays valid for 24 hours, so you can replace it. The new secret is shown once.',
      action: 'Add secret',
      kind: app.secrets.length > 1 ? 'danger' : 'primary',
    })
    if (yes) add.mutate()
  }
  const onRemove = async (secret: Secret): Promise<void> => {
    const yes = await ask({
      title: `Remove secret ${secret.begins}…?`,
      consequence: 'Requests with this secret are rejected immediately. This cannot be undone.',
      action: 'Remove',
    })
    if (yes) remove.mutate(secret)
  }
  const error = add.error ?? remove.error
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section
        flush
        title="Secrets"
        description="Up to two secrets are valid at a time. Only their hashes are stored."
        actions={
          <Button small busy={add.isPending} onClick={() => void onAdd()}>
            Add secret
          </Button>
        }
      >
        <DataTable
          label="Secrets"
          columns={columnsFor((secret) => void onRemove(secret))}
          rows={app.secrets}
          rowKey={({ id }) => id}
          empty={<Empty title="No valid secrets">The app cannot authenticate until you add one.</Empty>}
        />
      </Section>
      <Dialog open={shown !== undefined} onClose={() => setShown(undefined)} title="New secret">
        {shown && <ShownSecret clientId={app.id} secret={shown.secret} />}
      </Dialog>
    </>
  )
}

const columnsFor = (onRemove: (secret: Secret) => void): Column<Secret>[] => [
  { key: 'begins', header: 'Begins with', cell: ({ begins }) => <code>{begins}…</code> },
  { key: 'created', header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'ends',
    header: 'Expires',
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time value={expiresAt} />),
  },
  actionColumn({
    action: 'Remove',
    nameOf: ({ begins }) => `secret ${begins}`,
    onAction: onRemove,
  }),
]
