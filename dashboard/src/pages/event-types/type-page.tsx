import { Link, getRouteApi } from '@tanstack/react-router'
import { addressOf } from '../../api/client.ts'
import { Badge, CodeBlock, Page, ReadState, Section } from '../../ui/index.ts'
import { useEventTypes } from '../../webhooks/calls.ts'
import { SendEvent } from './send-event.tsx'

const route = getRouteApi('/event-types/$type')

const up = <Link to="/event-types">Event types</Link>
const write = (value: unknown): string => JSON.stringify(value, null, 2)

/** One event type: its schema, its samples, and a button that sends one. */
export function TypePage() {
  const { type } = route.useParams()
  const query = useEventTypes()
  const { data } = query
  if (!data)
    return (
      <Page title={type} up={up}>
        <ReadState {...query} />
      </Page>
    )
  const found = data.data.find((one) => one.type === type)
  const [sample = {}] = found?.samples ?? []
  return (
    <Page
      title={type}
      up={up}
      primary={!found?.builtIn && <SendEvent type={type} />}
      beside={found?.builtIn ? <Badge>sent by Postern</Badge> : found ? null : <Badge>not declared</Badge>}
      description={found?.description ?? undefined}
    >
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
          description="JSON Schema of the payload. Events that don't match are rejected."
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
