import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, ButtonLink, CheckField, Form, Notice, Page, Section, TextField } from '../../ui/index.ts'
import { SendEvent } from '../event-types/send-event.tsx'
import { EventTypesField } from '../../webhooks/event-types-field.tsx'
import { ShownOnce } from '../../webhooks/shown-once.tsx'

const route = getRouteApi('/subscribers/new')

const up = <Link to="/subscribers">Endpoints</Link>

/** Adds an endpoint; then shows its secret once. */
export function NewPage() {
  const { owner: presetOwner } = route.useSearch()
  const client = useQueryClient()
  const [url, setUrl] = useState('')
  const [owner, setOwner] = useState(presetOwner ?? '')
  const [description, setDescription] = useState('')
  const [types, setTypes] = useState<string[]>(['*'])
  const [sendTest, setSendTest] = useState(true)
  const add = useMutation({
    mutationFn: () =>
      api.post('/subscribers', {
        body: {
          url: url.trim(),
          eventTypes: types,
          ...(owner.trim() !== '' && { owner: owner.trim() }),
          ...(description.trim() !== '' && { description: description.trim() }),
          sendTest,
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['subscribers'] }),
  })
  if (add.data) return <Added subscriber={add.data} />
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    add.mutate()
  }
  return (
    <Page
      title="Add endpoint"
      up={up}
      description="It receives each event of the chosen types as a signed POST request."
    >
      <Section>
        <Form problem={add.error} onSubmit={submit} className="grid max-w-2xl gap-4">
          <TextField
            label="URL"
            name="url"
            type="url"
            required
            autoFocus
            placeholder="https://example.com/hooks"
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
          <EventTypesField chosen={types} onChange={setTypes} />
          <TextField
            label="Customer (optional)"
            name="owner"
            hint="The ID of the customer who manages this endpoint in the portal. It only gets events for this customer. It cannot be changed later."
            value={owner}
            onChange={({ target }) => setOwner(target.value)}
          />
          <TextField
            label="Description (optional)"
            name="description"
            value={description}
            onChange={({ target }) => setDescription(target.value)}
          />
          <CheckField
            label="Send a test event now"
            checked={sendTest}
            onChange={({ target }) => setSendTest(target.checked)}
          />
          <div className="flex gap-2">
            <Button type="submit" kind="primary" busy={add.isPending}>
              Add
            </Button>
            <ButtonLink to="/subscribers">Cancel</ButtonLink>
          </div>
        </Form>
      </Section>
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
