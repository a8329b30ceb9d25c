import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Source } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, Empty, Form, Notice, Section, TextArea, TextField } from '../../ui/index.ts'
import { EventLink } from '../failures/event-link.tsx'

/** Signs a sample with the secret of the source, and shows the event that it became. */
export function SampleTab({ source }: { source: Source }) {
  const { name, exampleType, canSign, label } = source
  const [type, setType] = useState(exampleType)
  const [text, setText] = useState('{ "sample": true }')
  const data = readObject(text)
  const client = useQueryClient()
  const send = useMutation({
    mutationFn: (body: { type: string; data: Record<string, unknown> }) =>
      api.post('/sources/{name}/sample', { params: { name }, body }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['events'] })
      await client.invalidateQueries({ queryKey: ['sources'] })
    },
  })
  if (!canSign)
    return (
      <Section>
        <Empty title="Postern cannot sign samples for this source">
          {label} signs with a key pair, or the source uses a custom signature. Send a test from the sender
          instead.
        </Empty>
      </Section>
    )
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (data) send.mutate({ type, data })
  }
  return (
    <Section
      title="Send a signed sample"
      description="Postern verifies and stores it like any webhook, and runs its handlers."
    >
      <Form problem={send.error} onSubmit={submit} className="max-w-xl space-y-4">
        <TextField
          label="Event type"
          name="type"
          value={type}
          required
          onChange={(event) => setType(event.target.value)}
        />
        <TextArea
          label="Data (JSON)"
          name="data"
          rows={5}
          className="font-mono text-sm"
          value={text}
          onChange={(event) => setText(event.target.value)}
          {...(data === undefined && { error: 'Enter a JSON object.' })}
        />
        <Button
          kind="primary"
          type="submit"
          busy={send.isPending}
          disabled={data === undefined || type === ''}
        >
          Send sample
        </Button>
      </Form>
      <div className="mt-4">
        {send.data && (
          <Notice>
            Stored as event{' '}
            {send.data.id === null ? (
              send.data.eventId
            ) : (
              <EventLink id={send.data.id}>{send.data.eventId}</EventLink>
            )}{' '}
            of type {send.data.type}.
          </Notice>
        )}
      </div>
    </Section>
  )
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
