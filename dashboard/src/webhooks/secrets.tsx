import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { addressOf } from '../api/client.ts'
import { fill, words } from '../language/words.ts'
import { Button } from '../ui/button.tsx'
import type { Column } from '../ui/column.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { CopyValue } from '../ui/copy.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatLong } from '../ui/format.ts'
import { Section } from '../ui/page.tsx'
import { DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useCalls, useRefresh } from './calls.ts'
import { ShownOnce } from './shown-once.tsx'
import type { Subscriber } from './types.ts'

type Key = Subscriber['keys'][number]

const columns = (): readonly Column<Key>[] => [
  {
    key: 'scheme',
    header: words.secrets.kind,
    width: '15rem',
    cell: ({ scheme }) => (scheme === 'v1' ? words.secrets.v1 : words.secrets.v1a),
  },
  {
    key: 'created',
    header: words.secrets.created,
    width: '11rem',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    key: 'end',
    header: words.secrets.validUntil,
    width: '12rem',
    cell: ({ expiresAt }) => (expiresAt === null ? words.secrets.rotated : <Time value={expiresAt} />),
  },
  {
    key: 'public',
    header: words.secrets.publicKey,
    cell: ({ publicKey }) =>
      publicKey === null ? '–' : <CopyValue value={publicKey} label={words.secrets.copyPublicKey} />,
  },
]

const hour = 3_600
const overlaps = () => [
  { value: String(24 * hour), label: formatLong(24, 'hour') },
  { value: String(hour), label: formatLong(1, 'hour') },
  { value: String(7 * 24 * hour), label: formatLong(7, 'day') },
  { value: String(30 * 24 * hour), label: formatLong(30, 'day') },
  { value: '0', label: words.secrets.noOverlap },
]

/** The keys that sign now, and their rotation. */
export function Secrets({ subscriber }: { subscriber: Subscriber }) {
  const { id, keys, signing } = subscriber
  return (
    <>
      <Section title={words.secrets.keys} description={words.secrets.keysHint} flush>
        <DataTable
          label={words.secrets.keysTable}
          columns={columns()}
          rows={keys}
          rowKey={(key) => key.id}
          empty={null}
        />
      </Section>
      <Rotate subscriber={subscriber} />
      {signing !== 'v1' && (
        <Section title={words.secrets.published} description={words.secrets.publishedHint}>
          <CopyValue value={addressOf(`/.well-known/webhook-keys/${id}`)} label={words.secrets.copyKeysUrl} />
        </Section>
      )}
    </>
  )
}

function Rotate({ subscriber: { id, url } }: { subscriber: Subscriber }) {
  const calls = useCalls()
  const refresh = useRefresh()
  const confirm = useConfirm()
  const [overlap, setOverlap] = useState(String(24 * hour))
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
    const period = overlaps().find(({ value }) => value === overlap)!.label
    const isHard = overlap === '0'
    const question = {
      title: fill(words.secrets.askTitle, { url }),
      consequence: isHard ? words.secrets.askNow : fill(words.secrets.ask, { period }),
      action: words.secrets.rotate,
      kind: isHard ? 'danger' : 'primary',
    } as const
    if (await confirm(question)) rotate.mutate()
  }
  return (
    <Section title={words.secrets.rotateTitle} description={words.secrets.rotateHint}>
      {rotate.data && <ShownOnce {...rotate.data} />}
      <Form
        problem={rotate.error}
        onSubmit={(event) => void ask(event)}
        className="grid max-w-2xl gap-4 sm:grid-cols-2"
      >
        <SelectField
          label={words.secrets.overlap}
          name="overlapSeconds"
          options={overlaps()}
          value={overlap}
          onChange={({ target }) => setOverlap(target.value)}
        />
        <TextField
          label={words.secrets.own}
          name="secret"
          placeholder="whsec_…"
          autoComplete="off"
          hint={words.secrets.ownHint}
          value={own}
          onChange={({ target }) => setOwn(target.value)}
        />
        <div className="sm:col-span-2">
          <Button type="submit" busy={rotate.isPending}>
            {words.secrets.rotate}
          </Button>
        </div>
      </Form>
    </Section>
  )
}
