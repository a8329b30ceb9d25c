import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { words } from '../language/words.ts'
import { bindFields } from '../ui/bind-fields.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { CheckField, TextArea, TextField } from '../ui/fields.tsx'
import { Form, type Faults } from '../ui/form.tsx'
import { useRefresh } from '../webhooks/calls.ts'
import { TargetFields } from '../webhooks/destination-fields.tsx'
import { EventTypesField } from '../webhooks/event-types-field.tsx'
import { changeOf, formOf, newForm } from '../webhooks/settings-form.ts'
import {
  CredentialFields,
  FilterFields,
  RequestFields,
  SignatureFields,
} from '../webhooks/request-fields.tsx'
import { api, type SubscriberDetail } from './client.ts'
import { portalWords } from './language/load.ts'

/** Adds an endpoint, or changes one. */
export function EndpointForm({
  endpoint,
  onClose,
  onSaved,
}: {
  endpoint?: SubscriberDetail
  onClose: () => void
  onSaved: (saved: { id: string; secret?: string; publicKey?: string }) => void
}) {
  const refresh = useRefresh()
  const [before] = useState(() => (endpoint ? formOf(endpoint) : newForm))
  const [form, setForm] = useState(before)
  const [faults, setFaults] = useState<Faults>()
  const set = (change: Partial<typeof form>): void => setForm({ ...form, ...change })
  const { text, check } = bindFields(form, set)
  const save = useMutation({
    mutationFn: (change: ReturnType<typeof changeOf>['change']) =>
      endpoint
        ? api.patch('/portal/subscribers/{id}', { params: { id: endpoint.id }, body: change })
        : api.post('/portal/subscribers', {
            body: { ...change, ...(form.destination === '' && { url: form.url.trim() }) },
          }),
    onSuccess: async (saved) => {
      onSaved(saved)
      await refresh()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (form.eventTypes.length === 0) return
    const { change, faults } = changeOf(before, form)
    setFaults(faults)
    if (faults === undefined) save.mutate(change)
  }
  return (
    <Dialog open wide onClose={onClose} title={endpoint ? portalWords.editEndpoint : portalWords.addEndpoint}>
      <Form problem={save.error} faults={faults} onSubmit={submit} className="flex flex-col gap-4">
        <TargetFields form={form} set={set} isNew={endpoint === undefined}>
          <TextField
            label="URL"
            type="url"
            required
            maxLength={2048}
            placeholder="https://shop.example.com/hooks"
            {...text('url')}
          />
        </TargetFields>
        <TextField label={portalWords.description} maxLength={1000} {...text('description')} />
        <EventTypesField chosen={form.eventTypes} onChange={(eventTypes) => set({ eventTypes })} />
        <details className="rounded-md border border-line px-3 py-2">
          <summary className="min-h-6 cursor-pointer">{portalWords.moreSettings}</summary>
          <div className="mt-3 flex flex-col gap-4">
            <FilterFields form={form} set={set} />
            <SignatureFields form={form} set={set} />
            <CheckField label={portalWords.inOrder} hint={portalWords.inOrderHint} {...check('ordered')} />
            <TextField
              label={portalWords.rateLimitOptional}
              type="number"
              min="0.01"
              max="10000"
              step="any"
              {...text('rateLimit')}
            />
            <TextArea
              label={portalWords.headersOptional}
              rows={3}
              hint={words.settings.headersHint}
              {...text('headers')}
            />
            {form.destination === '' && (
              <>
                <RequestFields form={form} set={set} />
                <CredentialFields form={form} set={set} />
              </>
            )}
          </div>
        </details>
        <DialogActions>
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {endpoint ? words.ui.save : portalWords.add}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
