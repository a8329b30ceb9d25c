import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  Button,
  DataTable,
  Empty,
  Fact,
  Facts,
  formatNumber,
  Page,
  ProblemNotice,
  ReadState,
  Section,
  Status,
  Time,
  toast,
  type Column,
} from '../../ui/index.ts'
import { runEvent } from '../events/run-event.ts'
import { DryRunPanel } from '../handlers/dry-run-panel.tsx'
import { ErrorText } from './error-text.tsx'
import { EventLink } from './event-link.tsx'
import { Hours } from './hours.tsx'
import { waitingOf } from './group-columns.tsx'
import { useRerun } from './rerun.tsx'

export type GroupDetail = AnswerOf<'GET /failures/{id}'>
type FailedEvent = GroupDetail['events'][number]

const route = getRouteApi('/failures/$id')

/** One group of failures: its error once, its events, and what can be done for all of them. */
export function FailurePage() {
  const { id } = route.useParams()
  const query = useQuery({
    queryKey: ['failures', id],
    queryFn: ({ signal }) => api.get('/failures/{id}', { params: { id }, signal }),
  })
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!query.data)
    return (
      <Page title="Failure" up={<Link to="/failures">Failures</Link>}>
        <ReadState {...query} />
      </Page>
    )
  return <Failure group={query.data} reading={<ReadState {...query} />} />
}

function Failure({ group, reading }: { group: GroupDetail; reading: ReactNode }) {
  const rerun = useRerun(group)
  return (
    <Page
      title={`${group.name}: ${group.message}`}
      up={<Link to="/failures">Failures</Link>}
      primary={rerun.button}
    >
      {reading}
      {rerun.report}
      <Section>
        <Facts>
          <Fact name="Handler">
            <Link to="/handlers/$id" params={{ id: group.handler }}>
              {group.handler}
            </Link>
          </Fact>
          <Fact name="Events">{waitingOf(group)}</Fact>
          <Fact name="Failed attempts">
            {formatNumber(group.count)}, first <Time value={group.firstAt} />, last{' '}
            <Time value={group.lastAt} />
          </Fact>
        </Facts>
        <p className="mt-3 mb-1 text-sm text-soft">Failed attempts per hour, last 7 days</p>
        <Hours hours={group.hours} length={168} scale />
      </Section>
      {group.error !== null && (
        <Section
          title="Error"
          description={
            group.errorEvent !== null && (
              <>
                From the last attempt of event <EventLink id={group.errorEvent}>{group.errorEvent}</EventLink>
              </>
            )
          }
        >
          <ErrorText text={group.error} />
        </Section>
      )}
      {group.errorEvent !== null && group.events.length > 0 && <DryRunPanel eventId={group.errorEvent} />}
      <EventsOfGroup group={group} />
    </Page>
  )
}

type Run = ReturnType<typeof useRunOne>

/** Runs one event now. */
function useRunOne() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: number) => runEvent(String(id)),
    onSuccess: (result) => toast(result),
    onSettled: () => client.invalidateQueries({ queryKey: ['failures'] }),
  })
}

const columnsOf = (run: Run): Column<FailedEvent>[] => [
  {
    key: 'event',
    header: 'Event',
    width: '22%',
    cell: ({ id, eventId }) => <EventLink id={id}>{eventId}</EventLink>,
  },
  { key: 'type', header: 'Type', width: '26%', cell: ({ type }) => <span title={type}>{type}</span> },
  { key: 'status', header: 'Status', cell: ({ status }) => <Status value={status} /> },
  { key: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempts }) => attempts },
  {
    key: 'next',
    header: 'Next attempt',
    cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? '–' : <Time value={nextAttemptAt} />),
  },
  {
    key: 'run',
    header: <span className="sr-only">Action</span>,
    width: '8rem',
    align: 'right',
    phone: 'aside',
    cell: ({ id, eventId }) => (
      <Button
        small
        aria-label={`Run now: ${eventId}`}
        busy={run.isPending && run.variables === id}
        onClick={() => run.mutate(id)}
      >
        Run now
      </Button>
    ),
  },
]

function EventsOfGroup({ group }: { group: GroupDetail }) {
  const run = useRunOne()
  return (
    <Section title="Latest events" flush>
      {run.error && <ProblemNotice error={run.error} />}
      <DataTable
        label="Latest events"
        columns={columnsOf(run)}
        rows={group.events}
        rowKey={({ id }) => String(id)}
        empty={<Empty title="No event has failed or will be retried" />}
      />
    </Section>
  )
}
