import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { useRates } from './use-rates.ts'
import { Fact, Facts, formatDuration, formatNumber, Section, Status } from '../../ui/index.ts'

export type Queues = AnswerOf<'GET /queues'>
type Count = Queues['receiving']['waiting']

/** `10,000+` for a number that is counted no further. */
export const countText = ({ count, more }: Count): string => formatNumber(count) + (more ? '+' : '')

/** Milliseconds after which due work needs a person, as for /readyz. */
const late = 120_000

/** The two queues side by side. */
export function QueueFacts({ queues: { receiving, emitting } }: { queues: Queues }) {
  const rates = useRates()
  return (
    <div className="grid gap-x-5 lg:grid-cols-2">
      <Section title="Received events" description="Waiting for their handlers.">
        <Facts>
          <Shared queue={receiving} />
          <Fact name="Received">{rates.received}</Fact>
          <Fact name="Processed">{rates.handled}</Fact>
          <Fact name="Blocked">
            {countText(receiving.blocked)}{' '}
            <span className="text-soft">behind an earlier event with the same order key</span>
          </Fact>
          <Fact name="Failed">
            <Link to="/failures">{countText(receiving.failed)}</Link>
          </Fact>
        </Facts>
      </Section>
      <Section title="Deliveries" description="Waiting to be sent to their endpoints.">
        <Facts>
          <Shared queue={emitting} />
          <Fact name="Delivered">{rates.delivered}</Fact>
          <Fact name="Failed">
            <Link to="/deliveries" search={{ status: 'dead', range: '30d' }}>
              {countText(emitting.dead)}
            </Link>
          </Fact>
        </Facts>
      </Section>
    </div>
  )
}

function Shared({ queue }: { queue: Queues['receiving'] | Queues['emitting'] }): ReactNode {
  const { waiting, due, retrying, oldestDueSeconds, lastRoundSeconds } = queue
  const age = oldestDueSeconds * 1000
  return (
    <>
      <Fact name="Waiting">{countText(waiting)}</Fact>
      <Fact name="Due now">{countText(due)}</Fact>
      <Fact name="Retrying">{countText(retrying)}</Fact>
      <Fact name="Longest wait">
        {age === 0 ? (
          'nothing due'
        ) : age > late ? (
          <Status value="failing">{formatDuration(age)}</Status>
        ) : (
          formatDuration(age)
        )}
      </Fact>
      <Fact name="Last poll">
        {lastRoundSeconds === null
          ? 'this process runs no worker'
          : `${formatDuration(lastRoundSeconds * 1000)} ago`}
      </Fact>
    </>
  )
}
