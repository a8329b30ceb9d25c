import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  DataTable,
  Empty,
  Fact,
  Facts,
  formatDuration,
  formatNumber,
  Loading,
  Page,
  ProblemNotice,
  ReadState,
  scheduleInWords,
  Section,
  Status,
  Time,
  type Column,
} from '../../ui/index.ts'
import type { RowOf } from '../../api/answers.ts'
import { EventLink } from '../failures/event-link.tsx'
import { groupColumns, waitingOf } from '../failures/group-columns.tsx'
import { useSetting } from '../system/use-setting.ts'
import { ErrorRate, handlerName, HandlerStatus, type Handler } from './handler-health.tsx'
import { waitingText } from './list-page.tsx'
import { PauseButton, usePause } from './use-pause.tsx'

const route = getRouteApi('/handlers/$id')

const RunChart = lazy(() => import('./run-chart.tsx'))

/** One handler: how it does, how it is set up, why it fails, and what it ran for. */
export function HandlerPage() {
  const { id } = route.useParams()
  const query = useQuery({
    queryKey: ['handlers', id],
    queryFn: ({ signal }) => api.get('/handlers/{id}', { params: { id }, signal }),
  })
  if (isProblem(query.error, 404)) return <NotFoundPage />
  const up = <Link to="/handlers">Handlers</Link>
  if (!query.data)
    return (
      <Page title={id} up={up}>
        <ReadState {...query} />
      </Page>
    )
  return (
    <Shown handler={query.data} up={up}>
      <ReadState {...query} />
    </Shown>
  )
}

function Shown({
  handler,
  up,
  children,
}: {
  handler: Handler
  up: React.ReactNode
  children: React.ReactNode
}) {
  const pause = usePause()
  return (
    <Page
      title={handlerName(handler)}
      up={up}
      beside={<HandlerStatus handler={handler} />}
      description={matchesOf(handler)}
      primary={<PauseButton handler={handler} pause={pause} />}
    >
      {children}
      {pause.error && <ProblemNotice error={pause.error} />}
      <div className="grid gap-x-5 lg:grid-cols-2">
        <LastHour handler={handler} />
        <SetUp handler={handler} />
      </div>
      <Section title="Runs" description="Last 24 hours, in steps of 15 minutes." className="min-h-64">
        <Suspense fallback={<Loading label="Loading chart" />}>
          <RunChart activity={handler.activity} />
        </Suspense>
      </Section>
      <Failures id={handler.id} />
      <LatestEvents handler={handler} />
    </Page>
  )
}

/** Which events it runs for, in a sentence. */
function matchesOf({ pattern, source, forwardTo }: Handler): string {
  if (source !== null) return `Posts every event from ${source} to ${forwardTo ?? 'its address'}.`
  if (pattern === '*') return 'Runs for every event, from all sources.'
  if (pattern.includes('*')) return `Runs for event types that match ${pattern} from all sources.`
  return `Runs for the event type ${pattern} from all sources.`
}

function LastHour({ handler }: { handler: Handler }) {
  const { recent, waiting, retrying, failed, lagSeconds, lastHandledAt, lastFailureAt, paused } = handler
  return (
    <Section title="Last hour">
      <Facts>
        <Fact name="Runs">{formatNumber(recent.handled + recent.failures)}</Fact>
        <Fact name="Errors">
          <ErrorRate rate={recent.errorRate} /> {recent.failures > 0 && `(${formatNumber(recent.failures)})`}
        </Fact>
        <Fact name="Duration">
          {recent.durationMs === null ? '–' : `${formatDuration(recent.durationMs)} on average`}
        </Fact>
        <Fact name="Waiting">
          {waitingText(waiting)} <span className="text-soft">(events that have not run yet)</span>
        </Fact>
        <Fact name="Lag">
          {lagSeconds === 0 ? 'none' : formatDuration(lagSeconds * 1000)}{' '}
          <span className="text-soft">(how long the oldest due event has been waiting)</span>
        </Fact>
        <Fact name="Events with errors">{waitingOf({ failed, retrying })}</Fact>
        <Fact name="Last success">
          <Time value={lastHandledAt} />
        </Fact>
        <Fact name="Last failure">
          <Time value={lastFailureAt} />
        </Fact>
        {paused && (
          <Fact name="Paused">
            <Time value={paused.at} /> by {paused.byName ?? paused.by ?? 'an unknown person'}
          </Fact>
        )}
      </Facts>
    </Section>
  )
}

function SetUp({ handler }: { handler: Handler }) {
  const { pattern, source, slots, slotsOf, timeoutSeconds, ordered } = handler
  const schedule = useSetting('HANDLER_RETRY_SCHEDULE')
  return (
    <Section title="Configuration">
      <Facts>
        <Fact name="Event types">
          <code className="font-mono text-sm">{pattern}</code>
        </Fact>
        <Fact name="Sources">{source ?? 'all'}</Fact>
        <Fact name="Concurrency">
          {formatNumber(slots)} at a time,{' '}
          {slotsOf === 'all processes' ? 'in all processes together' : 'for each source and process'}
        </Fact>
        <Fact name="Timeout">{formatDuration(timeoutSeconds * 1000)}</Fact>
        <Fact name="Order">{ordered ? 'one event at a time for each order key' : 'none'}</Fact>
        <Fact name="Retry schedule">
          {schedule?.value ? scheduleInWords(schedule.value) : '…'}{' '}
          <Link to="/system/settings" search={{ q: 'HANDLER_RETRY_SCHEDULE' }} className="underline">
            {schedule?.origin === 'default' ? 'Default' : 'Setting'}
          </Link>
        </Fact>
      </Facts>
    </Section>
  )
}

function Failures({ id }: { id: string }) {
  const groups = useQuery({
    queryKey: ['failures', 'handler', id],
    queryFn: ({ signal }) => api.get('/failures', { query: { handler: id, limit: 5 }, signal }),
  })
  return (
    <Section
      title="Failures"
      actions={
        <Link to="/failures" search={{ handler: id }} className="text-accent hover:underline">
          All failures
        </Link>
      }
      flush
    >
      {groups.error && <ProblemNotice error={groups.error} retry={() => void groups.refetch()} />}
      <DataTable
        label="Failures"
        columns={groupColumns}
        rows={groups.data?.data ?? []}
        rowKey={(group) => group.id}
        loading={groups.isPending}
        error={groups.error}
        empty={<Empty title="No failures" />}
      />
    </Section>
  )
}

type Event = RowOf<'GET /events'>

const eventColumns: Column<Event>[] = [
  { key: 'event', header: 'Event', cell: ({ id, eventId }) => <EventLink id={id}>{eventId}</EventLink> },
  { key: 'type', header: 'Type', cell: ({ type }) => type },
  { key: 'source', header: 'Source', cell: ({ source }) => source },
  { key: 'status', header: 'Status', width: '8rem', cell: ({ status }) => <Status value={status} /> },
  { key: 'at', header: 'Received', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
]

function LatestEvents({ handler: { pattern, source } }: { handler: Handler }) {
  const filter = {
    direction: 'received' as const,
    ...(source === null ? pattern !== '*' && { type: pattern } : { source }),
  }
  const events = useQuery({
    queryKey: ['events', 'handler', filter],
    queryFn: ({ signal }) => api.get('/events', { query: { ...filter, limit: 10, order: 'desc' }, signal }),
  })
  return (
    <Section
      title="Latest events"
      actions={
        <Link to="/events" search={filter} className="text-accent hover:underline">
          All events
        </Link>
      }
      flush
    >
      {events.error && <ProblemNotice error={events.error} retry={() => void events.refetch()} />}
      <DataTable
        label="Latest events"
        columns={eventColumns}
        rows={events.data?.data ?? []}
        rowKey={(event) => String(event.id)}
        loading={events.isPending}
        error={events.error}
        empty={<Empty title="No events of this type yet" />}
      />
    </Section>
  )
}
