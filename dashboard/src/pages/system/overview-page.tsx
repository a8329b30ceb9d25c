import { commandLine } from '../../api/boot.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import {
  Fact,
  Facts,
  formatBytes,
  formatNumber,
  Notice,
  Page,
  ReadState,
  Section,
  Status,
  Time,
} from '../../ui/index.ts'
import { countText } from './queue-facts.tsx'
import { SystemLinks } from './system-links.tsx'

/** What runs, and how much work is waiting. */
export function OverviewPage() {
  return (
    <Page title="System" description="Status, queues and configuration.">
      <SystemLinks />
      <Version />
      <Queues />
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
          Pending migrations: {schema.pending.join(', ')}. Restart, or run{' '}
          <code>{commandLine('migrate')}</code>.
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
        <Fact name="Started">
          <Time value={startedAt} />
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
  const { receiving, emitting, database } = data
  return (
    <Section title="Queues and storage">
      <ReadState {...query} />
      <Facts>
        <Fact name="Received events">
          <Link to="/system/queues" className="underline">
            {countText(receiving.waiting)} waiting
          </Link>
          , {countText(receiving.failed)} failed
        </Fact>
        <Fact name="Deliveries">
          <Link to="/system/queues" className="underline">
            {countText(emitting.waiting)} waiting
          </Link>
          , {countText(emitting.dead)} failed
        </Fact>
        <Fact name="Database size">
          <Link to="/system/retention">{formatBytes(database.bytes)}</Link>
        </Fact>
      </Facts>
    </Section>
  )
}
