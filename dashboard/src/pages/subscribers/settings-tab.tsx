import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import { Button, Form, TextField, toast, type Faults } from '../../ui/index.ts'
import { changeOf, formOf, type SettingsForm } from '../../webhooks/settings-form.ts'
import { ShownOnce } from '../../webhooks/shown-once.tsx'
import type { Subscriber, SubscriberChange } from '../../webhooks/types.ts'
import { EndpointFields } from './endpoint-fields.tsx'

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
      <EndpointFields
        form={form}
        set={set}
        hasCustomer={subscriber.owner !== null}
        customer={
          <TextField
            label="Customer"
            hint="Cannot be changed: deliveries and secrets belong to this customer."
            readOnly
            value={subscriber.owner ?? 'none'}
          />
        }
      />
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
