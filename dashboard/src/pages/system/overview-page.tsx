import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import {
  ButtonLink,
  Fact,
  Facts,
  formatNumber,
  Notice,
  Page,
  ReadState,
  Section,
  Status,
  Time,
} from '../../ui/index.ts'
import { QueueFacts } from './queue-facts.tsx'
import { SystemLinks } from './system-links.tsx'

/** What runs, what waits, and where the rest of the system is found. */
export function OverviewPage() {
  return (
    <Page title="System" description="What runs, what waits, and how it is set up.">
      <SystemLinks />
      <Version />
      <Queues />
      <Section title="More">
        <div className="flex flex-wrap gap-2">
          <ButtonLink to="/system/keys">API keys</ButtonLink>
          <ButtonLink to="/system/audit">Audit log</ButtonLink>
          <ButtonLink to="/alerts">Alerts</ButtonLink>
        </div>
      </Section>
    </Page>
  )
}

const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

function Version() {
  const query = useQuery({
    queryKey: ['version'],
    queryFn: ({ signal }) => api.get('/version', { signal }),
  })
  const { data } = query
  if (!data) return <ReadState {...query} />
  const { version, node, engine, engineVersion, schema, startedAt, processes } = data
  return (
    <Section title="Version">
      <ReadState {...query} />
      {schema.pending.length > 0 && (
        <Notice tone="warn">
          Migrations to be applied: {schema.pending.join(', ')}. Restart, or run{' '}
          <code>npx postern migrate</code>.
        </Notice>
      )}
      <Facts>
        <Fact name="Postern">{version}</Fact>
        <Fact name="Node.js">{node}</Fact>
        <Fact name="Database">
          {engines[engine]} {engineVersion}
        </Fact>
        <Fact name="Schema">
          <Status value={schema.pending.length === 0 ? 'ok' : 'warning'}>
            {schema.pending.length === 0 ? 'up to date' : 'behind'}
          </Status>{' '}
          {formatNumber(schema.migrations)} {schema.migrations === 1 ? 'migration' : 'migrations'}, last
          applied <Time value={schema.migratedAt} />
        </Fact>
        <Fact name="This process">
          started <Time value={startedAt} />
        </Fact>
        <Fact name="Processes">{formatNumber(processes)}</Fact>
      </Facts>
    </Section>
  )
}

function Queues() {
  const query = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => api.get('/queues', { signal }),
  })
  const { data } = query
  if (!data) return <ReadState {...query} />
  return (
    <>
      <ReadState {...query} />
      <QueueFacts queues={data} />
    </>
  )
}
