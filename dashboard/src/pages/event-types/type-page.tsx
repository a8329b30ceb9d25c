import { getRouteApi } from '@tanstack/react-router'
import { addressOf } from '../../api/client.ts'
import { Badge, CodeBlock, Page, ReadState, Section } from '../../ui/index.ts'
import { useEventTypes } from '../../webhooks/calls.ts'
import { EmitForm } from './emit-form.tsx'

const route = getRouteApi('/event-types/$type')

const write = (value: unknown): string => JSON.stringify(value, null, 2)

/** One event type: its schema, its samples, and a form that emits an event. */
export function TypePage() {
  const { type } = route.useParams()
  const query = useEventTypes()
  const { data } = query
  if (!data)
    return (
      <Page title={type}>
        <ReadState {...query} />
      </Page>
    )
  const found = data.data.find((one) => one.type === type)
  const [sample = {}] = found?.samples ?? []
  return (
    <Page
      title={type}
      beside={found?.builtIn ? <Badge>emitted by Postern</Badge> : found ? null : <Badge>not declared</Badge>}
      description={found?.description ?? undefined}
    >
      <ReadState {...query} />
      {!found?.builtIn && <EmitForm key={type} type={type} sample={write(sample)} />}
      {found?.samples.map((one, index) => (
        <Section
          key={write(one)}
          title={found.samples.length === 1 ? 'Sample of the data' : `Sample ${index + 1} of the data`}
        >
          <CodeBlock code={write(one)} label="Sample" />
        </Section>
      ))}
      {found?.schema ? (
        <Section title="Schema of the data" description="JSON Schema. Events that do not match are refused.">
          <CodeBlock code={write(found.schema)} label="Schema" />
        </Section>
      ) : null}
      {!found?.builtIn && (
        <Section title="By a call">
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
