import { Link, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { addressOf, api } from '../../api/client.ts'
import { Badge, Button, CodeBlock, Page, ReadState, Section } from '../../ui/index.ts'
import { useEventTypes } from '../../webhooks/calls.ts'
import { DeleteButton } from '../delete-button.tsx'
import { SendEvent } from './send-event.tsx'
import { TypeDialog, newestVersion, useStoredTypes } from './type-dialog.tsx'

const route = getRouteApi('/event-types/$type')

const up = <Link to="/event-types">Event types</Link>
const write = (value: unknown): string => JSON.stringify(value, null, 2)

/** One event type: its schema, its samples, and a button that sends one. */
export function TypePage() {
  const { type } = route.useParams()
  const query = useEventTypes()
  const { data } = query
  const stored = useStoredTypes().find((one) => one.type === type)
  const [editing, setEditing] = useState(false)
  if (!data)
    return (
      <Page title={type} up={up}>
        <ReadState {...query} />
      </Page>
    )
  const shown = data.data.find((one) => one.type === type)
  const hidden = stored && { ...stored, schema: newestVersion(stored)[1], samples: [], builtIn: false }
  const found = shown ?? hidden
  const [sample = {}] = found?.samples ?? []
  return (
    <Page
      title={type}
      up={up}
      primary={!found?.builtIn && <SendEvent type={type} />}
      beside={
        found?.builtIn ? (
          <Badge>sent by Postern</Badge>
        ) : stored?.archived ? (
          <Badge>archived</Badge>
        ) : stored?.deprecated ? (
          <Badge>deprecated</Badge>
        ) : found ? null : (
          <Badge>not declared</Badge>
        )
      }
      description={found?.description ?? undefined}
      actions={
        stored && (
          <>
            <Button onClick={() => setEditing(true)}>Edit</Button>
            <DeleteButton
              name={type}
              consequence="Customers no longer see it in the catalog. Endpoints that subscribe to it still receive its events."
              call={() => api.delete('/event-types/{type}', { params: { type } })}
              list="event-types"
              id={type}
            />
          </>
        )
      }
    >
      {editing && (
        <TypeDialog stored={stored} onClose={() => setEditing(false)} onSaved={() => setEditing(false)} />
      )}
      <ReadState {...query} />
      {found?.samples.map((one, index) => (
        <Section
          key={write(one)}
          title={found.samples.length === 1 ? 'Sample payload' : `Sample ${index + 1}`}
        >
          <CodeBlock code={write(one)} label="Sample" />
        </Section>
      ))}
      {found?.schema ? (
        <Section
          title="Schema"
          description={
            stored
              ? 'JSON Schema of the payload.'
              : "JSON Schema of the payload. Events that don't match are rejected."
          }
        >
          <CodeBlock code={write(found.schema)} label="Schema" />
        </Section>
      ) : null}
      {!found?.builtIn && (
        <Section title="Send with the API">
          <CodeBlock
            label="Command"
            code={`curl -X POST ${addressOf('/events')} \\
  -H "authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '${JSON.stringify({ type, data: sample }).replaceAll("'", "'\\''")}'`}
          />
        </Section>
      )}
    </Page>
  )
}
