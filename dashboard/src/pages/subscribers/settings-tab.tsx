import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  CheckField,
  Form,
  Section,
  SelectField,
  TextArea,
  TextField,
  bindFields,
  toast,
  type Faults,
} from '../../ui/index.ts'
import { useDefaultSchedule } from './default-schedule.ts'
import { words } from '../../language/words.ts'
import { EventTypesField } from '../../webhooks/event-types-field.tsx'
import {
  changeOf,
  conditionsHint,
  formOf,
  signings,
  type SettingsForm,
} from '../../webhooks/settings-form.ts'
import { CredentialFields, RequestFields } from '../../webhooks/request-fields.tsx'
import { ShownOnce } from '../../webhooks/shown-once.tsx'
import type { Subscriber, SubscriberChange } from '../../webhooks/types.ts'

/** All settings of an endpoint. Only those that were changed are sent. */
export function SettingsTab({ subscriber }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const [before, setBefore] = useState(() => formOf(subscriber))
  const [form, setForm] = useState(before)
  const [faults, setFaults] = useState<Faults>()
  const save = useMutation({
    mutationFn: (change: SubscriberChange) =>
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
    const { change, faults } = changeOf(before, form)
    setFaults(faults)
    if (faults === undefined) save.mutate(change)
  }
  const set = (change: Partial<SettingsForm>): void => setForm({ ...form, ...change })
  const isChanged = JSON.stringify(form) !== JSON.stringify(before)
  return (
    <Form problem={save.error} faults={faults} onSubmit={submit}>
      {save.data && <ShownOnce {...save.data} />}
      <WhatItGets form={form} set={set} subscriber={subscriber} />
      <HowItIsSent form={form} set={set} />
      <Section
        title="Credentials and certificates"
        description="Removed if the scheme, host or port of the URL changes."
      >
        <div className="grid max-w-3xl gap-4">
          <CredentialFields form={form} set={set} />
        </div>
      </Section>
      <HowItIsSigned form={form} set={set} />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" kind="primary" busy={save.isPending} disabled={!isChanged}>
          Save
        </Button>
        <Button disabled={!isChanged} onClick={() => setForm(before)}>
          Discard changes
        </Button>
      </div>
    </Form>
  )
}

interface Part {
  form: SettingsForm
  set: (change: Partial<SettingsForm>) => void
}

function WhatItGets({ form, set, subscriber: { owner } }: Part & { subscriber: Subscriber }) {
  const { text, check } = bindFields(form, set)
  return (
    <Section title="Events">
      <div className="grid max-w-3xl gap-4">
        <TextField
          label="URL"
          type="url"
          required
          hint="Stored headers are removed if the scheme, host or port changes."
          {...text('url')}
        />
        <TextField label="Description" {...text('description')} />
        <EventTypesField chosen={form.eventTypes} onChange={(eventTypes) => set({ eventTypes })} />
        <TextArea label="Payload conditions" rows={3} hint={conditionsHint} {...text('conditions')} />
        <TextField
          label="Customer"
          hint="Cannot be changed: deliveries and secrets belong to this customer."
          readOnly
          value={owner ?? 'none'}
        />
        <CheckField
          label="Operational"
          hint="Receives only events about deliveries and endpoints."
          disabled={owner !== null}
          {...check('operational')}
        />
      </div>
    </Section>
  )
}

function HowItIsSent({ form, set }: Part) {
  const schedule = useDefaultSchedule()
  const { text, check } = bindFields(form, set)
  return (
    <Section title="Delivery" description="Leave a field empty to use the default.">
      <div className="grid max-w-3xl gap-4 sm:grid-cols-2">
        <TextField
          label="Timeout in seconds"
          type="number"
          min="0.1"
          max="300"
          step="any"
          {...text('timeout')}
        />
        <TextField label="Concurrent attempts" type="number" min="1" max="100" {...text('concurrency')} />
        <TextField
          label="Attempts per second"
          type="number"
          min="0.01"
          max="10000"
          step="any"
          {...text('rateLimit')}
        />
        <TextField
          label="Retry schedule"
          hint="Seconds before each attempt, separated by commas. The first attempt is included."
          placeholder={schedule === undefined ? undefined : `Default: ${schedule}`}
          {...text('retrySchedule')}
        />
        <RequestFields form={form} set={set} />
        <div className="sm:col-span-2">
          <TextArea
            label="Additional headers"
            rows={3}
            hint={words.settings.headersHint}
            {...text('headers')}
          />
        </div>
        <div className="sm:col-span-2">
          <CheckField
            label="In order"
            hint="One delivery at a time, in the order in which events were sent. A failed delivery delays the others."
            {...check('ordered')}
          />
        </div>
      </div>
    </Section>
  )
}

function HowItIsSigned({ form, set }: Part) {
  const { text, check } = bindFields(form, set)
  return (
    <Section title="Signing">
      <div className="grid max-w-3xl gap-4">
        <SelectField label="Signatures" options={signings()} {...text('signing')} />
        <CheckField
          label="HTTP message signatures"
          hint="Also sign with RFC 9421, using the same keys."
          {...check('httpSignature')}
        />
      </div>
    </Section>
  )
}
