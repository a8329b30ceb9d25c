import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { addressOf } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import type { Column } from '../ui/column.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { CopyValue } from '../ui/copy.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Section } from '../ui/page.tsx'
import { DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useCalls, useRefresh } from './calls.ts'
import { ShownOnce } from './shown-once.tsx'
import type { Subscriber } from './types.ts'

type Key = Subscriber['keys'][number]

const columns: readonly Column<Key>[] = [
  {
    key: 'scheme',
    header: 'Kind',
    cell: ({ scheme }) => (scheme === 'v1' ? 'v1: secret, HMAC-SHA256' : 'v1a: key pair, ed25519'),
  },
  { key: 'created', header: 'Created', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'end',
    header: 'Valid until',
    width: '12rem',
    cell: ({ expiresAt }) => (expiresAt === null ? 'rotated' : <Time value={expiresAt} />),
  },
  {
    key: 'public',
    header: 'Public key',
    cell: ({ publicKey }) =>
      publicKey === null ? '–' : <CopyValue value={publicKey} label="Copy the public key" />,
  },
]

const hour = 3_600
const overlaps = [
  { value: String(24 * hour), label: '24 hours' },
  { value: String(hour), label: '1 hour' },
  { value: String(7 * 24 * hour), label: '7 days' },
  { value: String(30 * 24 * hour), label: '30 days' },
  { value: '0', label: 'None: revoke the old secret now' },
]

/** The keys that sign now, and their rotation. */
export function Secrets({ subscriber }: { subscriber: Subscriber }) {
  const { id, keys, signing } = subscriber
  return (
    <>
      <Section
        title="Signing keys"
        description="Each request carries one signature per key. Your server accepts a request if one signature matches its secret."
        flush
      >
        <DataTable label="Keys" columns={columns} rows={keys} rowKey={(key) => key.id} empty={null} />
      </Section>
      <Rotate subscriber={subscriber} />
      {signing !== 'v1' && (
        <Section title="Published keys" description="Anyone can read the public keys here.">
          <CopyValue value={addressOf(`/.well-known/webhook-keys/${id}`)} label="Copy the URL of the keys" />
        </Section>
      )}
    </>
  )
}

function Rotate({ subscriber: { id, url } }: { subscriber: Subscriber }) {
  const calls = useCalls()
  const refresh = useRefresh()
  const confirm = useConfirm()
  const [overlap, setOverlap] = useState(overlaps[0]!.value)
  const [own, setOwn] = useState('')
  const rotate = useMutation({
    mutationFn: () =>
      calls.rotate(id, {
        overlapSeconds: Number(overlap),
        ...(own.trim() !== '' && { secret: own.trim() }),
      }),
    onSuccess: async () => {
      setOwn('')
      await refresh()
    },
  })
  const ask = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const period = overlaps.find(({ value }) => value === overlap)!.label
    const isHard = overlap === '0'
    const question = {
      title: `Rotate the secret of ${url}?`,
      consequence: isHard
        ? 'The old secret is revoked now. Your server rejects all requests until it has the new one.'
        : `The new secret is shown once. Both secrets sign each request for ${period}, so that you can change your server without rejecting any.`,
      action: 'Rotate secret',
      kind: isHard ? 'danger' : 'primary',
    } as const
    if (await confirm(question)) rotate.mutate()
  }
  return (
    <Section
      title="Rotate the secret"
      description="Both secrets sign during the overlap. Change your server at any time within it."
    >
      {rotate.data && <ShownOnce {...rotate.data} />}
      <Form
        problem={rotate.error}
        onSubmit={(event) => void ask(event)}
        className="grid max-w-2xl gap-4 sm:grid-cols-2"
      >
        <SelectField
          label="Overlap"
          name="overlapSeconds"
          options={overlaps}
          value={overlap}
          onChange={({ target }) => setOverlap(target.value)}
        />
        <TextField
          label="Your own secret (optional)"
          name="secret"
          placeholder="whsec_…"
          autoComplete="off"
          hint="Default: a new random one."
          value={own}
          onChange={({ target }) => setOwn(target.value)}
        />
        <div className="sm:col-span-2">
          <Button type="submit" busy={rotate.isPending}>
            Rotate secret
          </Button>
        </div>
      </Form>
    </Section>
  )
}
