import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { CopyButton, CopyValue } from '../ui/copy.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Notice, ProblemNotice } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { api, type SubscriberDetail } from './client.ts'

/** A new secret, which no other answer contains. */
export function NewSecret({ secret, onClose }: { secret: string | undefined; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="The secret of your endpoint">
      {secret === undefined ? (
        <p>This endpoint has no secret: verify its deliveries with the public key.</p>
      ) : (
        <>
          <Notice tone="warn">It is shown this once. Keep it where your server reads its secrets.</Notice>
          <p className="flex items-center gap-2 rounded-md bg-sunken p-3">
            <code className="min-w-0 flex-1 font-mono text-sm break-all select-all">{secret}</code>
            <CopyButton text={secret} label="Copy the secret" />
          </p>
        </>
      )}
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  )
}

/** Seconds that the old secret stays valid. */
const overlap = 86_400

/** The keys of an endpoint, and a new secret. */
export function Secrets({ endpoint }: { endpoint: SubscriberDetail }) {
  const confirm = useConfirm()
  const queries = useQueryClient()
  const [shown, setShown] = useState<{ secret?: string }>()
  const rotate = useMutation({
    mutationFn: () =>
      api.post('/portal/subscribers/{id}/rotate-secret', {
        params: { id: endpoint.id },
        body: { overlapSeconds: overlap },
      }),
    onSuccess: async (answer) => {
      setShown(answer)
      await queries.invalidateQueries({ queryKey: ['endpoint', endpoint.id] })
    },
  })
  const ask = async (): Promise<void> => {
    const sure = await confirm({
      title: 'Make a new secret?',
      consequence:
        'For one day each delivery is signed with the old and the new secret, so that you can change it without a gap. Then the old one ends.',
      action: 'Make a new secret',
      kind: 'primary',
    })
    if (sure) rotate.mutate()
  }
  return (
    <Section
      title="Secrets"
      description="They sign each delivery. Your server verifies the signature."
      actions={
        <Button busy={rotate.isPending} onClick={() => void ask()}>
          New secret
        </Button>
      }
    >
      {rotate.error && <ProblemNotice error={rotate.error} />}
      <ul className="flex flex-col gap-2">
        {endpoint.keys.map(({ id, scheme, createdAt, expiresAt, publicKey }) => (
          <li key={id} className="rounded-md border border-line px-3 py-2">
            <p>
              {scheme === 'v1' ? 'Secret' : 'Key pair'} <code className="font-mono text-sm">{id}</code>, made{' '}
              <Time value={createdAt} />
              {expiresAt === null ? (
                ', in use'
              ) : (
                <>
                  , ends <Time value={expiresAt} />
                </>
              )}
            </p>
            {publicKey !== null && <CopyValue value={publicKey} label="Copy the public key" />}
          </li>
        ))}
      </ul>
      {shown && <NewSecret secret={shown.secret} onClose={() => setShown(undefined)} />}
    </Section>
  )
}
