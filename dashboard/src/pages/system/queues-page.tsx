import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import {
  Fact,
  Facts,
  formatDuration,
  formatNumber,
  Loading,
  Page,
  ProblemNotice,
  Section,
  Status,
} from '../../ui/index.ts'
import { QueueFacts, type Queues } from './queue-facts.tsx'
import { SystemLinks } from './system-links.tsx'

/** The queues and the spool. */
export function QueuesPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => api.get('/queues', { signal }),
  })
  return (
    <Page title="Queues" description="Waiting work and throughput.">
      <SystemLinks />
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <QueueFacts queues={data} />
          {data.spool && <Spool spool={data.spool} />}
        </>
      )}
    </Page>
  )
}

function Spool({
  spool: { status, events = 0, oldestSeconds = 0 },
}: {
  spool: NonNullable<Queues['spool']>
}) {
  return (
    <Section title="Spool" description="Stores acknowledged webhooks while the database is unavailable.">
      <Facts>
        <Fact name="State">
          <Status value={status === 'ok' ? 'ok' : 'failing'}>{status}</Status>
        </Fact>
        <Fact name="Webhooks">{formatNumber(events)}</Fact>
        <Fact name="Oldest">{events === 0 ? 'none' : formatDuration(oldestSeconds * 1000)}</Fact>
      </Facts>
    </Section>
  )
}
