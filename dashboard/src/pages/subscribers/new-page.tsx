import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, ButtonLink, CheckField, Form, Notice, Page, TextField, type Faults } from '../../ui/index.ts'
import { SendEvent } from '../event-types/send-event.tsx'
import { changeOf, newForm, type SettingsForm } from '../../webhooks/settings-form.ts'
import { ShownOnce } from '../../webhooks/shown-once.tsx'
import { EndpointFields } from './endpoint-fields.tsx'

const route = getRouteApi('/subscribers/new')

const up = <Link to="/subscribers">Endpoints</Link>

/** Adds an endpoint; then shows its secret once. */
export function NewPage() {
  const { owner: presetOwner } = route.useSearch()
  const client = useQueryClient()
  const [form, setForm] = useState(newForm)
  const [faults, setFaults] = useState<Faults>()
  const [owner, setOwner] = useState(presetOwner ?? '')
  const [sendTest, setSendTest] = useState(true)
  const set = (change: Partial<SettingsForm>): void => setForm({ ...form, ...change })
  const customer = owner.trim()
  const add = useMutation({
    mutationFn: (settings: ReturnType<typeof changeOf>['change']) =>
      api.post('/subscribers', {
        body: {
          ...settings,
          ...(form.destination === '' && { url: form.url.trim() }),
          ...(customer !== '' && { owner: customer }),
          sendTest,
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['subscribers'] }),
  })
  if (add.data) return <Added subscriber={add.data} />
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const { change, faults } = changeOf(newForm, form)
    setFaults(faults)
    if (faults === undefined) add.mutate(change)
  }
  return (
    <Page
      title="Add endpoint"
      up={up}
      description="It receives each event of the chosen types as a signed request."
    >
      <Form problem={add.error} faults={faults} onSubmit={submit}>
        <EndpointFields
          form={form}
          set={set}
          isNew
          hasCustomer={customer !== ''}
          customer={
            <TextField
              label="Customer (optional)"
              name="owner"
              hint="The ID of the customer who manages this endpoint in the portal. It only gets events for this customer. It cannot be changed later."
              value={owner}
              onChange={({ target }) => setOwner(target.value)}
            />
          }
        />
        <div className="mb-4">
          <CheckField
            label="Send a test event now"
            checked={sendTest}
            onChange={({ target }) => setSendTest(target.checked)}
          />
        </div>
        <div className="flex gap-2">
          <Button type="submit" kind="primary" busy={add.isPending}>
            Add
          </Button>
          <ButtonLink to="/subscribers">Cancel</ButtonLink>
        </div>
      </Form>
    </Page>
  )
}

function Added({ subscriber }: { subscriber: AnswerOf<'POST /subscribers'> }) {
  const { id, url, owner, testDeliveryId } = subscriber
  return (
    <Page
      title="Endpoint added"
      up={up}
      description={url}
      primary={<SendEvent {...(owner !== null && { owner })} />}
    >
      <ShownOnce {...subscriber} />
      {testDeliveryId !== undefined && <Notice>Test event sent.</Notice>}
      <div className="flex flex-wrap gap-2">
        {testDeliveryId !== undefined && (
          <ButtonLink to="/deliveries/$id" params={{ id: String(testDeliveryId) }}>
            View test delivery
          </ButtonLink>
        )}
        <ButtonLink to="/subscribers/$id" params={{ id }} search={{ tab: 'code' }}>
          Verification code
        </ButtonLink>
        <ButtonLink to="/subscribers/$id" params={{ id }}>
          Open endpoint
        </ButtonLink>
      </div>
    </Page>
  )
}
