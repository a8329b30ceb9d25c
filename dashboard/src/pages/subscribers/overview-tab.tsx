import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { startOf, useRange } from '../../layout/time-range.ts'
import { Facts, Fact, ProblemNotice, Section, Time, scheduleInWords } from '../../ui/index.ts'
import { useDefaultSchedule } from './default-schedule.ts'
import { HealthChart } from './health-chart.tsx'
import { describeTypes } from './list-page.tsx'
import { meaningOf, type Subscriber } from '../../webhooks/types.ts'
import { CustomerFact } from '../customers/customer-fact.tsx'

/** The health and the facts of an endpoint. */
export function OverviewTab({ subscriber }: { subscriber: Subscriber }) {
  const { id, uid, state, owner, ownerName, retrySchedule, createdAt, updatedAt } = subscriber
  const { eventTypes, channels, operational } = subscriber
  const schedule = useDefaultSchedule()
  return (
    <>
      <Health id={id} />
      <Section title="About">
        <Facts>
          <Fact name="State">
            {state}: {meaningOf[state]}
          </Fact>
          <CustomerFact owner={owner} ownerName={ownerName} />
          <Fact name="Event types">
            {operational ? `operational: ${describeTypes(eventTypes)}` : describeTypes(eventTypes)}
          </Fact>
          {channels.length > 0 && <Fact name="Channels">{channels.join(', ')}</Fact>}
          <Fact name="Retry schedule">
            {retrySchedule === null
              ? schedule && `Default. ${scheduleInWords(schedule)}`
              : scheduleInWords(retrySchedule.join(','))}
          </Fact>
          <Fact name="ID">
            <code className="font-mono text-sm">{id}</code>
          </Fact>
          {uid !== null && (
            <Fact name="Your ID">
              <code className="font-mono text-sm">{uid}</code>
            </Fact>
          )}
          <Fact name="Added">
            <Time value={createdAt} />
          </Fact>
          <Fact name="Updated">
            <Time value={updatedAt} />
          </Fact>
        </Facts>
      </Section>
    </>
  )
}

/** The attempts of the time range of the header. */
function Health({ id }: { id: string }) {
  const range = useRange()
  const { data, error } = useQuery({
    queryKey: ['subscribers', 'health', id, range],
    queryFn: ({ signal }) =>
      api.get('/subscribers/{id}/health', { params: { id }, query: { since: startOf(range) }, signal }),
  })
  return (
    <Section title="Attempts">
      {error && <ProblemNotice error={error} />}
      {data && <HealthChart health={data} />}
    </Section>
  )
}
