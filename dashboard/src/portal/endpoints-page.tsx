import { Plus } from 'lucide-react'
import { useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { fill, words } from '../language/words.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Button, LinkButton } from '../ui/button.tsx'
import { JsonView } from '../ui/json.tsx'
import { Empty, ProblemNotice } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import type { Column } from '../ui/column.tsx'
import { DataTable } from '../ui/table.tsx'
import { formatPercent } from '../ui/format.ts'
import { api, type EventType, type Subscriber } from './client.ts'
import { EndpointForm } from './endpoint-form.tsx'
import { useEventTypes } from '../webhooks/calls.ts'
import { portalWords } from './language/load.ts'
import { goTo } from './place.ts'
import { NewSecret } from './new-secret.tsx'

const columns = (): readonly Column<Subscriber>[] => [
  {
    key: 'url',
    header: portalWords.endpoint,
    width: '50%',
    cell: ({ id, url, description }) => (
      <>
        <LinkButton title={url} onClick={() => goTo({ endpoint: id })}>
          {description ?? url}
        </LinkButton>
        {description !== null && <span className="block truncate text-sm text-soft">{url}</span>}
      </>
    ),
  },
  {
    key: 'types',
    header: words.eventTypes.label,
    cell: ({ eventTypes }) => (
      <span title={eventTypes.join(', ')}>
        {eventTypes.includes('*') ? portalWords.allTypes : eventTypes.join(', ')}
      </span>
    ),
  },
  {
    key: 'state',
    header: words.attempt.status,
    width: '10rem',
    cell: ({ state }) => <Status value={state} />,
  },
  {
    key: 'success',
    header: portalWords.success24,
    width: '11rem',
    align: 'right',
    cell: ({ lastDay: { successRate } }) => (successRate === null ? '–' : formatPercent(successRate)),
  },
]

/** All endpoints of the owner, and the catalogue of events. */
export function EndpointsPage() {
  const [adding, setAdding] = useState(false)
  const [secret, setSecret] = useState<{ id: string; secret?: string; publicKey?: string }>()
  const { data, rows, error, loading, onMore, loadingMore } = usePages({
    key: ['endpoints'],
    read: (cursor, signal) => api.get('/portal/subscribers', { query: { limit: 50, cursor }, signal }),
    idOf: ({ id }) => id,
  })
  if (error && !data) return <ProblemNotice error={error} />
  const add = (
    <Button kind="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      {portalWords.addEndpoint}
    </Button>
  )
  return (
    <>
      <div className="mb-5 flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="text-xl font-semibold">{portalWords.yourEndpoints}</h1>
          <p className="mt-0.5 text-soft">{portalWords.yourEndpointsHint}</p>
        </div>
        {add}
      </div>
      {error && <ProblemNotice error={error} />}
      <Section flush>
        <DataTable
          label={portalWords.endpoints}
          columns={columns()}
          rows={rows}
          rowKey={({ id }) => id}
          loading={loading}
          onMore={onMore}
          loadingMore={loadingMore}
          empty={<Empty title={portalWords.noEndpoints}>{portalWords.noEndpointsHint}</Empty>}
        />
      </Section>
      <Catalogue />
      {adding && (
        <EndpointForm
          onClose={() => setAdding(false)}
          onSaved={(created) => {
            setAdding(false)
            setSecret(created)
          }}
        />
      )}
      {secret && (
        <NewSecret
          {...secret}
          onClose={() => {
            setSecret(undefined)
            goTo({ endpoint: secret.id })
          }}
        />
      )}
    </>
  )
}

function Catalogue() {
  const { data } = useEventTypes()
  const types = data?.data.filter(({ builtIn }) => !builtIn) ?? []
  if (types.length === 0) return null
  return (
    <Section title={words.eventTypes.label} description={portalWords.catalogue}>
      {types.map((one) => (
        <EventTypeEntry key={one.type} {...one} />
      ))}
    </Section>
  )
}

function EventTypeEntry({ type, description, samples }: EventType) {
  return (
    <details className="border-t border-line py-2 first:border-t-0">
      <summary className="min-h-6 cursor-pointer">
        <span className="font-mono text-sm">{type}</span>
      </summary>
      <div className="pt-2">
        {description !== null && <p className="mb-2">{description}</p>}
        {samples.length > 0 ? (
          <JsonView text={JSON.stringify(samples[0], null, 2)} label={fill(words.ui.sampleOf, { type })} />
        ) : (
          <Badge>{portalWords.noSample}</Badge>
        )}
      </div>
    </details>
  )
}
