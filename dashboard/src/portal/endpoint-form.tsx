import { useMutation, useQueryClient } from '@tanstack/react-query'
import { PosternError } from 'postern-client/api'
import { useState, type FormEvent } from 'react'
import { bindFields } from '../ui/bind-fields.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../ui/fields.tsx'
import { ProblemNotice } from '../ui/notices.tsx'
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
  const headers = Object.entries(endpoint?.headers ?? {})
  return {
    url: endpoint?.url ?? '',
    description: endpoint?.description ?? '',
    eventTypes: endpoint?.eventTypes ?? ['*'],
    ordered: endpoint?.ordered ?? false,
    signing: endpoint?.signing ?? 'v1',
    rateLimit: String(endpoint?.rateLimit ?? ''),
    headers: headers.map(([name, value]) => `${name}: ${value}`).join('\n'),
  }
}

/** The body of the call; a new endpoint sends what is set, a change all fields. */
function bodyOf({ url, description, eventTypes, ordered, signing, rateLimit, headers }: Values) {
  const pairs = headers
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()])
  return {
    url: url.trim(),
    description: description === '' ? null : description,
    eventTypes: [...eventTypes],
    ordered,
    signing,
    rateLimit: rateLimit === '' ? null : Number(rateLimit),
    headers: pairs.length === 0 ? null : (Object.fromEntries(pairs) as Record<string, string>),
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
  const { text, check } = bindFields(values, set)
  const save = useMutation({
    mutationFn: () => {
      const body = bodyOf(values)
      return endpoint
        ? api.patch('/portal/subscribers/{id}', { params: { id: endpoint.id }, body })
        : api.post('/portal/subscribers', { body })
    },
    onSuccess: async (saved) => {
      onSaved(saved)
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    },
  })
  const pointer = save.error instanceof PosternError ? save.error.pointer?.split('/')[1] : undefined
  const at = (name: string): string | undefined => (pointer === name ? save.error?.message : undefined)
  const known = ['url', 'description', 'eventTypes', 'rateLimit', 'headers'].includes(pointer ?? '')
  const none = values.eventTypes.length === 0
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!none) save.mutate()
  }
  return (
    <Dialog open wide onClose={onClose} title={endpoint ? 'Change the endpoint' : 'Add an endpoint'}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {save.error && !known && <ProblemNotice error={save.error} />}
        <TextField
          label="Address"
          type="url"
          required
          maxLength={2048}
          placeholder="https://shop.example.com/hooks"
          error={at('url')}
          {...text('url')}
        />
        <TextField
          label="Description (optional)"
          maxLength={1000}
          error={at('description')}
          {...text('description')}
        />
        <EventTypesField
          chosen={values.eventTypes}
          error={none ? 'Choose at least one.' : at('eventTypes')}
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
              inputMode="decimal"
              error={at('rateLimit')}
              {...text('rateLimit')}
            />
            <TextArea
              label="Headers (optional)"
              rows={3}
              hint="One per line, as Name: value. Credentials are shown as [redacted]."
              error={at('headers')}
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
      </form>
    </Dialog>
  )
}
