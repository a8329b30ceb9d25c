import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  CheckField,
  Notice,
  ProblemNotice,
  Section,
  SelectField,
  TextArea,
  TextField,
  toast,
} from '../../ui/index.ts'
import { EventTypeField } from './event-type-field.tsx'
import { changeOf, conditionsHint, formOf, headersHint, type SettingsForm } from './settings-form.ts'
import { ShownOnce } from './shown-once.tsx'
import type { Subscriber } from './types.ts'

const signings = [
  { value: 'v1', label: 'v1: a shared secret, HMAC-SHA256' },
  { value: 'v1a', label: 'v1a: a key pair, ed25519' },
  { value: 'both', label: 'both' },
]

/** All settings of a subscriber. Only those that were changed are sent. */
export function SettingsTab({ subscriber }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const [before, setBefore] = useState(() => formOf(subscriber))
  const [form, setForm] = useState(before)
  const [fault, setFault] = useState<string>()
  const save = useMutation({
    mutationFn: (change: NonNullable<ReturnType<typeof changeOf>>) =>
      api.patch('/subscribers/{id}', { params: { id: subscriber.id }, body: change }),
    onSuccess: async (saved) => {
      const stored = formOf(saved)
      setBefore(stored)
      setForm(stored)
      toast('Saved')
      await client.invalidateQueries({ queryKey: ['subscribers'] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setFault(undefined)
    try {
      save.mutate(changeOf(before, form))
    } catch (error) {
      setFault((error as Error).message)
    }
  }
  const set = (change: Partial<SettingsForm>): void => setForm({ ...form, ...change })
  const isChanged = JSON.stringify(form) !== JSON.stringify(before)
  return (
    <form onSubmit={submit}>
      {save.data && <ShownOnce {...save.data} />}
      <WhatItGets form={form} set={set} subscriber={subscriber} />
      <HowItIsSent form={form} set={set} />
      <HowItIsSigned form={form} set={set} />
      {fault !== undefined && <Notice tone="danger">{fault}</Notice>}
      {save.error && <ProblemNotice error={save.error} />}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" kind="primary" busy={save.isPending} disabled={!isChanged}>
          Save
        </Button>
        <Button disabled={!isChanged} onClick={() => setForm(before)}>
          Discard changes
        </Button>
      </div>
    </form>
  )
}

interface Part {
  form: SettingsForm
  set: (change: Partial<SettingsForm>) => void
}

function WhatItGets({ form, set, subscriber: { owner } }: Part & { subscriber: Subscriber }) {
  return (
    <Section title="What it gets">
      <div className="grid max-w-3xl gap-4">
        <TextField
          label="Address"
          type="url"
          required
          hint="Stored headers are removed if scheme, host or port change."
          value={form.url}
          onChange={({ target }) => set({ url: target.value })}
        />
        <TextField
          label="Description"
          value={form.description}
          onChange={({ target }) => set({ description: target.value })}
        />
        <EventTypeField value={form.eventTypes} onChange={(eventTypes) => set({ eventTypes })} />
        <TextArea
          label="Conditions on the data"
          rows={3}
          hint={conditionsHint}
          value={form.conditions}
          onChange={({ target }) => set({ conditions: target.value })}
        />
        <TextField
          label="Customer"
          hint="Fixed: its deliveries and secrets belong to the owner."
          readOnly
          value={owner ?? 'none'}
        />
        <CheckField
          label="Operational"
          hint="It gets only the events about deliveries and subscribers."
          disabled={owner !== null}
          checked={form.operational}
          onChange={({ target }) => set({ operational: target.checked })}
        />
      </div>
    </Section>
  )
}

function HowItIsSent({ form, set }: Part) {
  return (
    <Section title="How it is sent" description="An empty field selects the default of the service.">
      <div className="grid max-w-3xl gap-4 sm:grid-cols-2">
        <TextField
          label="Time-out in seconds"
          type="number"
          min="0.1"
          max="300"
          step="any"
          value={form.timeout}
          onChange={({ target }) => set({ timeout: target.value })}
        />
        <TextField
          label="Attempts at the same time"
          type="number"
          min="1"
          max="100"
          value={form.concurrency}
          onChange={({ target }) => set({ concurrency: target.value })}
        />
        <TextField
          label="Attempts per second, at most"
          type="number"
          min="0.01"
          max="10000"
          step="any"
          value={form.rateLimit}
          onChange={({ target }) => set({ rateLimit: target.value })}
        />
        <TextField
          label="Retry schedule"
          hint="Seconds before each attempt, the first included, separated by commas: 0, 5, 300"
          value={form.retrySchedule}
          onChange={({ target }) => set({ retrySchedule: target.value })}
        />
        <div className="sm:col-span-2">
          <TextArea
            label="Additional headers"
            rows={3}
            hint={headersHint}
            value={form.headers}
            onChange={({ target }) => set({ headers: target.value })}
          />
        </div>
        <div className="sm:col-span-2">
          <CheckField
            label="In order"
            hint="One delivery at a time, in the order of emission. A failed one delays the others."
            checked={form.ordered}
            onChange={({ target }) => set({ ordered: target.checked })}
          />
        </div>
      </div>
    </Section>
  )
}

function HowItIsSigned({ form, set }: Part) {
  return (
    <Section title="How it is signed">
      <div className="grid max-w-3xl gap-4">
        <SelectField
          label="Signatures"
          options={signings}
          value={form.signing}
          onChange={({ target }) => set({ signing: target.value as SettingsForm['signing'] })}
        />
        <CheckField
          label="HTTP message signatures"
          hint="Signs by RFC 9421 as well, with the same keys."
          checked={form.httpSignature}
          onChange={({ target }) => set({ httpSignature: target.checked })}
        />
      </div>
    </Section>
  )
}
