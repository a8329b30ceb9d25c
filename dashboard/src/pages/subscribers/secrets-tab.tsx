import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { addressOf, api } from '../../api/client.ts'
import {
  Button,
  CopyValue,
  DataTable,
  Form,
  Section,
  SelectField,
  TextField,
  Time,
  useConfirm,
  type Column,
} from '../../ui/index.ts'
import { ShownOnce } from './shown-once.tsx'
import type { Subscriber } from './types.ts'

type Key = Subscriber['keys'][number]

const columns: readonly Column<Key>[] = [
  {
    key: 'scheme',
    header: 'Kind',
    cell: ({ scheme }) => (scheme === 'v1' ? 'v1: secret, HMAC-SHA256' : 'v1a: key pair, ed25519'),
  },
  { key: 'created', header: 'Made', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'end',
    header: 'Signs until',
    width: '12rem',
    cell: ({ expiresAt }) => (expiresAt === null ? 'it is replaced' : <Time value={expiresAt} />),
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
  { value: '0', label: 'none: the old secret ends at once' },
]

/** The keys that sign now, and their replacement. */
export function SecretsTab({ subscriber }: { subscriber: Subscriber }) {
  const { id, keys, signing } = subscriber
  return (
    <>
      <Section
        title="Keys that sign now"
        description="Each request has one signature for each of them. A receiver accepts it when one matches the secret that it has."
        flush
      >
        <DataTable label="Keys" columns={columns} rows={keys} rowKey={(key) => key.id} empty={null} />
      </Section>
      <Rotate subscriber={subscriber} />
      {signing !== 'v1' && (
        <Section title="Published keys" description="Receivers can read the public keys here.">
          <CopyValue
            value={addressOf(`/.well-known/webhook-keys/${id}`)}
            label="Copy the address of the keys"
          />
        </Section>
      )}
    </>
  )
}

function Rotate({ subscriber: { id, url } }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const [overlap, setOverlap] = useState(overlaps[0]!.value)
  const [own, setOwn] = useState('')
  const rotate = useMutation({
    mutationFn: () =>
      api.post('/subscribers/{id}/rotate-secret', {
        params: { id },
        body: { overlapSeconds: Number(overlap), ...(own.trim() !== '' && { secret: own.trim() }) },
      }),
    onSuccess: async () => {
      setOwn('')
      await client.invalidateQueries({ queryKey: ['subscribers'] })
    },
  })
  const ask = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const period = overlaps.find(({ value }) => value === overlap)!.label
    const isHard = overlap === '0'
    const question = {
      title: `Make a new secret for ${url}?`,
      consequence: isHard
        ? 'The old secret signs nothing from now on. Until the receiver has the new one, it refuses all requests.'
        : `The new secret is shown once, and the receiver needs it. For ${period} both the old and the new one sign each request, so nothing is refused meanwhile.`,
      action: 'Make a new secret',
      kind: isHard ? 'danger' : 'primary',
    } as const
    if (await confirm(question)) rotate.mutate()
  }
  return (
    <Section
      title="Replace the secret"
      description="During the overlap both secrets sign, so you can change the receiver at any time within it."
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
            Replace the secret
          </Button>
        </div>
      </Form>
    </Section>
  )
}
