import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { startOf, useRange } from '../../layout/time-range.ts'
import {
  Facts,
  Fact,
  ProblemNotice,
  Section,
  Time,
  formatDuration,
  formatNumber,
  formatPercent,
} from '../../ui/index.ts'
import { HealthChart } from './health-chart.tsx'
import { describeTypes } from './list-page.tsx'
import { meaningOf, type Subscriber } from '../../webhooks/types.ts'
import { CustomerFact } from '../customers/customer-fact.tsx'

/** How the subscriber does, and what it is. */
export function OverviewTab({ subscriber }: { subscriber: Subscriber }) {
  const { id, state, lastDay, owner, eventTypes, operational, createdAt, updatedAt } = subscriber
  return (
    <>
      <Section title="Last day">
        <Facts>
          <Fact name="State">
            {state}: {meaningOf[state]}
          </Fact>
          <Fact name="Success">
            {lastDay.successRate === null
              ? 'no attempts'
              : `${formatPercent(lastDay.successRate)} of ${formatNumber(lastDay.delivered + lastDay.failed)} attempts`}
          </Fact>
          <Fact name="Duration">
            {lastDay.p99 === null ? '–' : `99 of 100 attempts within ${formatDuration(lastDay.p99)}`}
          </Fact>
        </Facts>
      </Section>
      <Health id={id} />
      <Section title="About">
        <Facts>
          <CustomerFact owner={owner} />
          <Fact name="Event types">
            {operational ? `operational: ${describeTypes(eventTypes)}` : describeTypes(eventTypes)}
          </Fact>
          <Fact name="Id">
            <code className="font-mono text-sm">{id}</code>
          </Fact>
          <Fact name="Added">
            <Time value={createdAt} />
          </Fact>
          <Fact name="Changed">
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
    <Section title="Attempts by hour">
      {error && <ProblemNotice error={error} />}
      {data && <HealthChart health={data} />}
    </Section>
  )
}
