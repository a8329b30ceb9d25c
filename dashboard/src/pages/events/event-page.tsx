import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Fragment, lazy, Suspense } from 'react'
import { api, isProblem } from '../../api/client.ts'
import {
  Button,
  ButtonLink,
  CodeBlock,
  CopyButton,
  CopyValue,
  Empty,
  Fact,
  Facts,
  JsonView,
  Loading,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  toast,
  useConfirm,
} from '../../ui/index.ts'
import { CustomerFact } from '../customers/customer-fact.tsx'
import { asCurl, asTest } from './copy-texts.ts'
import { Deliveries } from './deliveries.tsx'
import { Errors } from './errors.tsx'
import { RunNowButton, useRunNow } from './run-now.tsx'
import { canRun, useEvent, type EventDetail, type LoadedEvent } from './use-event.ts'
import { Way } from './way.tsx'

const route = getRouteApi('/events/$id')

const DryRunPanel = lazy(async () => ({
  default: (await import('../handlers/dry-run-panel.tsx')).DryRunPanel,
}))

/** One event: its way, its errors, its payload. */
export function EventPage() {
  const { id } = route.useParams()
  const { data, error, refetch } = useEvent(id)
  if (data) return <Event loaded={data} />
  if (!error) return <Loading />
  if (isProblem(error, 404))
    return <Absent title="Event not found" text={`There is no event number ${id}.`} />
  if (isProblem(error, 410))
    return <Absent title="Event no longer stored" text={error instanceof Error ? error.message : ''} />
  return (
    <Page title="Event">
      <ProblemNotice error={error} retry={() => void refetch()} />
    </Page>
  )
}

function Absent({ title, text }: { title: string; text: string }) {
  return (
    <Page title={title}>
      <Empty title={text} action={<ButtonLink to="/events">All events</ButtonLink>}>
        Search for its ID, or browse the list.
      </Empty>
    </Page>
  )
}

function Event({ loaded }: { loaded: LoadedEvent }) {
  const { event, payload } = loaded
  const run = useRunNow(String(event.id))
  const failures = event.processing?.failures ?? []
  return (
    <Page
      title={event.type}
      beside={<Status value={event.status} />}
      description={<Summary event={event} />}
      up={<Link to="/events">Events</Link>}
      primary={
        event.status === 'scheduled' ? (
          <CancelButton event={event} />
        ) : (
          canRun(event) && <RunNowButton run={run} />
        )
      }
      actions={
        <>
          <CopyButton text={() => asCurl(loaded)}>Copy as curl</CopyButton>
          {event.direction === 'received' && (
            <CopyButton text={() => asTest(loaded)}>Copy as test</CopyButton>
          )}
        </>
      }
    >
      {run.error && <ProblemNotice error={run.error} />}
      {failures.length > 0 && (
        <Section title={event.status === 'processed' ? 'Errors before it succeeded' : 'Why it failed'}>
          <Errors failures={failures} />
        </Section>
      )}
      {event.status === 'unhandled' && <Unhandled event={event} />}
      <Section title="Timeline">
        <Way event={event} />
      </Section>
      {event.direction === 'received' && (
        <Suspense fallback={<Loading />}>
          <DryRunPanel eventId={event.id} />
        </Suspense>
      )}
      <Deliveries deliveries={[...event.deliveries, ...event.emittedDeliveries]} />
      <Section title="Payload" actions={<span className="text-sm text-soft">{event.contentType}</span>}>
        {payload === undefined ? (
          <CodeBlock code={decoded(event.payloadBase64 ?? '')} label="Payload" />
        ) : (
          <JsonView text={payload} />
        )}
      </Section>
      <Section title="Details">
        <Details event={event} />
      </Section>
    </Page>
  )
}

function CancelButton({ event: { id, type } }: { event: EventDetail }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const cancel = useMutation({
    mutationFn: () => api.delete('/events/{id}', { params: { id: String(id) } }),
    onSuccess: () => toast('Event canceled'),
    onError: (error) => toast(error.message),
    onSettled: () => client.invalidateQueries({ queryKey: ['event', String(id)] }),
  })
  const ask = async (): Promise<void> => {
    const question = {
      title: 'Cancel this event?',
      consequence: `${type} is not sent to any endpoint.`,
      action: 'Cancel event',
      keep: 'Keep it',
    }
    if (await confirm(question)) cancel.mutate()
  }
  return (
    <Button busy={cancel.isPending} onClick={() => void ask()}>
      Cancel event
    </Button>
  )
}

/** Why nothing happened, and how to change that: most often the type in the configuration is mistyped. */
function Unhandled({ event: { type } }: { event: EventDetail }) {
  const { data } = useQuery({
    queryKey: ['handlers'],
    queryFn: ({ signal }) => api.get('/handlers', { signal }),
  })
  const patterns = data?.data.flatMap(({ pattern, source }) => (source === null ? [pattern] : [])) ?? []
  return (
    <Section title="No handler for this type">
      <div className="space-y-3">
        <p>
          The event is stored, but no code ran.{' '}
          {patterns.length > 0 && (
            <>
              Your handlers match{' '}
              {patterns.map((pattern, index) => (
                <Fragment key={pattern}>
                  {index > 0 && ', '}
                  <code className="font-mono text-sm">{pattern}</code>
                </Fragment>
              ))}
              .
            </>
          )}
          {data && patterns.length === 0 && 'There is no handler yet.'} To handle later events of this type,
          add a handler to <code className="font-mono text-sm">receiving.handlers</code> and restart the
          service:
        </p>
        <CodeBlock code={handlerFor(type)} label="Handler" />
      </div>
    </Section>
  )
}

const handlerFor = (type: string): string =>
  `receiving: {\n  handlers: {\n    ${JSON.stringify(type)}: async (event, { tx }) => {\n      // your code\n    },\n  },\n}`

function Summary({ event }: { event: EventDetail }) {
  return (
    <>
      {event.direction === 'received'
        ? `Received from ${event.source}`
        : event.deliverAt === undefined
          ? 'Sent'
          : 'Emitted'}{' '}
      <Time value={event.createdAt} />
      {event.deliverAt !== undefined && (
        <>
          , {event.status === 'canceled' ? 'canceled; it was scheduled for' : 'scheduled for'}{' '}
          <Time value={event.deliverAt} />
        </>
      )}
      {event.causedBy !== null && (
        <>
          {' '}
          {event.direction === 'emitted' ? 'by the handler of' : 'as a delivery of'}{' '}
          <Link to="/events/$id" params={{ id: String(event.causedBy) }} className="underline">
            event {event.causedBy}
          </Link>
        </>
      )}
    </>
  )
}

function Details({ event }: { event: EventDetail }) {
  const { processing, verification } = event
  return (
    <Facts>
      <Fact name="ID">
        <CopyValue value={event.eventId} label="Copy ID" />
      </Fact>
      <Fact name="Log number">
        <CopyValue value={String(event.id)} label="Copy number" />
      </Fact>
      {verification && (
        <Fact name="Verified">
          with {verification.scheme}
          {verification.secret !== null && `, secret ${verification.secret}`}
          {verification.signedAt !== null && (
            <>
              , signed <Time value={verification.signedAt} />
            </>
          )}
        </Fact>
      )}
      {event.audience === '*' ? (
        <Fact name="Customer">all</Fact>
      ) : (
        <CustomerFact owner={event.audience} ownerName={null} />
      )}
      {event.channels && <Fact name="Channels">{event.channels.join(', ')}</Fact>}
      {event.tags && <Fact name="Tags">{event.tags.join(', ')}</Fact>}
      {event.payloadRemovedAt !== null && (
        <Fact name="Payload">
          removed <Time value={event.payloadRemovedAt} />
        </Fact>
      )}
      {processing && (
        <Fact name="Attempts">
          {processing.attempts}
          {processing.running && ', one in progress'}
          {processing.nextAttemptAt !== null && (
            <>
              , next <Time value={processing.nextAttemptAt} />
            </>
          )}
        </Fact>
      )}
      {processing?.orderKey && (
        <Fact name="Order key">
          <Link to="/events" search={{ orderKey: processing.orderKey }} className="underline">
            {processing.orderKey}
          </Link>
          {processing.blockedBy !== null && (
            <>
              , waiting for{' '}
              <Link to="/events/$id" params={{ id: String(processing.blockedBy) }} className="underline">
                event {processing.blockedBy}
              </Link>
            </>
          )}
        </Fact>
      )}
      {Object.entries(event.headers ?? {}).map(([name, value]) => (
        <Fact key={name} name={name}>
          <span className="font-mono text-sm break-all">{value}</span>
        </Fact>
      ))}
    </Facts>
  )
}

function decoded(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  return new TextDecoder().decode(bytes)
}
