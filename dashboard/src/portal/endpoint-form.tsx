import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { bindFields } from '../ui/bind-fields.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { readHeaders, writeHeaders } from '../ui/header-lines.ts'
import { api, type SubscriberDetail } from './client.ts'
import { EventTypesField } from './event-types-field.tsx'

interface Values {
  url: string
  description: string
  eventTypes: readonly string[]
  ordered: boolean
  signing: 'v1' | 'v1a' | 'both'
  rateLimit: string
  headers: string
}

const signings = [
  { value: 'v1', label: 'Secret (HMAC-SHA256)' },
  { value: 'v1a', label: 'Key pair (ed25519)' },
  { value: 'both', label: 'Both' },
]

function valuesOf(endpoint: SubscriberDetail | undefined): Values {
  return {
    url: endpoint?.url ?? '',
    description: endpoint?.description ?? '',
    eventTypes: endpoint?.eventTypes ?? ['*'],
    ordered: endpoint?.ordered ?? false,
    signing: endpoint?.signing ?? 'v1',
    rateLimit: String(endpoint?.rateLimit ?? ''),
    headers: writeHeaders(endpoint?.headers ?? {}),
  }
}

/**
 * The body of the call; a new endpoint sends what is set, a change all fields.
 * @throws Error for a line that is no header
 */
function bodyOf({ url, description, eventTypes, ordered, signing, rateLimit, headers }: Values) {
  const read = readHeaders(headers)
  return {
    url: url.trim(),
    description: description === '' ? null : description,
    eventTypes: [...eventTypes],
    ordered,
    signing,
    rateLimit: rateLimit === '' ? null : Number(rateLimit),
    headers: Object.keys(read).length === 0 ? null : read,
  }
}

/** Adds an endpoint, or changes one. */
export function EndpointForm({
  endpoint,
  onClose,
  onSaved,
}: {
  endpoint?: SubscriberDetail
  onClose: () => void
  onSaved: (saved: { id: string; secret?: string }) => void
}) {
  const queries = useQueryClient()
  const [values, setValues] = useState(() => valuesOf(endpoint))
  const set = (change: Partial<Values>): void => setValues({ ...values, ...change })
  /** What is wrong with the headers as they were when the form was sent. */
  const [unreadable, setUnreadable] = useState<{ headers: string }>()
  const { text, check } = bindFields(values, set)
  const save = useMutation({
    mutationFn: (body: ReturnType<typeof bodyOf>) =>
      endpoint
        ? api.patch('/portal/subscribers/{id}', { params: { id: endpoint.id }, body })
        : api.post('/portal/subscribers', { body }),
    onSuccess: async (saved) => {
      onSaved(saved)
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    },
  })
  const none = values.eventTypes.length === 0
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (none) return
    try {
      save.mutate(bodyOf(values))
      setUnreadable(undefined)
    } catch (error) {
      setUnreadable({ headers: (error as Error).message })
    }
  }
  return (
    <Dialog open wide onClose={onClose} title={endpoint ? 'Change the endpoint' : 'Add an endpoint'}>
      <Form problem={save.error} faults={unreadable} onSubmit={submit} className="flex flex-col gap-4">
        <TextField
          label="Address"
          type="url"
          required
          maxLength={2048}
          placeholder="https://shop.example.com/hooks"
          {...text('url')}
        />
        <TextField label="Description (optional)" maxLength={1000} {...text('description')} />
        <EventTypesField
          chosen={values.eventTypes}
          error={none ? 'Choose at least one.' : undefined}
          onChange={(eventTypes) => set({ eventTypes })}
        />
        <details className="rounded-md border border-line px-3 py-2">
          <summary className="min-h-6 cursor-pointer">More settings</summary>
          <div className="mt-3 flex flex-col gap-4">
            <SelectField label="Signature" options={signings} {...text('signing')} />
            <CheckField
              label="One after the other"
              hint="In the order of the events; one that fails holds up the others."
              {...check('ordered')}
            />
            <TextField
              label="Attempts per second (optional)"
              type="number"
              min="0.01"
              max="10000"
              step="any"
              {...text('rateLimit')}
            />
            <TextArea
              label="Headers (optional)"
              rows={3}
              hint="One per line, as Name: value. Credentials are shown as [redacted]."
              {...text('headers')}
            />
          </div>
        </details>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {endpoint ? 'Save' : 'Add'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
