import { progressEvery, refreshEvery } from '../../api/refresh.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  Button,
  CopyButton,
  Facts,
  Fact,
  Notice,
  Page,
  ProblemNotice,
  ReadState,
  Section,
  Time,
  toast,
} from '../../ui/index.ts'
import { Attempt, AttemptLine, outcomeOf, type DeliveryDetail } from '../../webhooks/attempt.tsx'
import { curlOf } from './curl.ts'
import { DeliveryStatus } from './delivery-table.tsx'
import { CustomerFact } from '../customers/customer-fact.tsx'

const route = getRouteApi('/deliveries/$id')
const up = <Link to="/deliveries">Deliveries</Link>

/** One delivery: its attempts, newest first, and what can be done. */
export function DeliveryPage() {
  const { id } = route.useParams()
  const query = useQuery({
    queryKey: ['deliveries', 'one', id],
    queryFn: ({ signal }) => api.get('/deliveries/{id}', { params: { id }, signal }),
    refetchInterval: ({ state }) => (isExpected(state.data) ? progressEvery : refreshEvery),
  })
  const delivery = query.data
  const [awaited, setAwaited] = useState<number>()
  const navigate = route.useNavigate()
  const follow = (attempt: number): void => {
    setAwaited(attempt)
    void navigate({ search: (before) => ({ ...before, attempt: undefined }), replace: true })
  }
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!delivery)
    return (
      <Page title="Delivery" up={up}>
        <ReadState {...query} />
      </Page>
    )
  return (
    <Page
      title={delivery.eventType}
      up={up}
      beside={<DeliveryStatus {...delivery} />}
      description={`Delivery ${delivery.id}`}
      actions={
        /^https?:/.test(delivery.subscriberUrl) && (
          <CopyButton text={() => curlOf(delivery, delivery.attempts.at(-1))}>Copy as curl</CopyButton>
        )
      }
      primary={<Resend delivery={delivery} onSent={() => follow(delivery.attemptCount + 1)} />}
    >
      <ReadState {...query} />
      <About delivery={delivery} />
      <Attempts delivery={delivery} awaited={awaited} />
    </Page>
  )
}

/** Whether an attempt is due or under way. */
function isExpected(delivery: DeliveryDetail | undefined): boolean {
  const at = delivery?.nextAttemptAt ?? null
  return at !== null && Date.parse(at) < Date.now() + 30_000
}

function Resend({ delivery, onSent }: { delivery: DeliveryDetail; onSent: () => void }) {
  const client = useQueryClient()
  const send = useMutation({
    mutationFn: () => api.post('/deliveries/{id}/replay', { params: { id: String(delivery.id) } }),
    onSuccess: async () => {
      onSent()
      toast('Delivery queued', { description: 'The next attempt appears here when it finishes.' })
      await client.invalidateQueries({ queryKey: ['deliveries'] })
    },
  })
  return (
    <>
      <Button kind="primary" busy={send.isPending} onClick={() => send.mutate()}>
        {delivery.status === 'pending' ? 'Send now' : 'Resend'}
      </Button>
      {send.error && <ProblemNotice error={send.error} />}
    </>
  )
}

function About({ delivery }: { delivery: DeliveryDetail }) {
  const { event, eventId, subscriberId, subscriberUrl, owner, ownerName, createdAt, finishedAt } = delivery
  return (
    <Section>
      <Facts>
        <Fact name="Endpoint">
          <Link to="/subscribers/$id" params={{ id: subscriberId }}>
            {subscriberUrl}
          </Link>
        </Fact>
        <CustomerFact owner={owner} ownerName={ownerName} />
        <Fact name="Event">
          <span className="inline-flex max-w-full items-center gap-1">
            <Link
              to="/events/$id"
              params={{ id: String(event) }}
              title={eventId}
              className="truncate font-mono text-sm"
            >
              {eventId}
            </Link>
            <span className="-my-2">
              <CopyButton text={eventId} label="Copy the event ID" />
            </span>
          </span>
        </Fact>
        <Fact name="Created">
          <Time value={createdAt} />
        </Fact>
        {finishedAt !== null && (
          <Fact name="Finished">
            <Time value={finishedAt} />
          </Fact>
        )}
        {delivery.nextAttemptAt !== null && (
          <Fact name="Next attempt">
            {isExpected(delivery) ? (
              'now, or when the endpoint is free'
            ) : (
              <Time value={delivery.nextAttemptAt} />
            )}
          </Fact>
        )}
      </Facts>
    </Section>
  )
}

const dots = { delivered: 'bg-ok', cancelled: 'bg-strong', dead: 'bg-danger' }

/** @param awaited the number of the attempt that the person asked for: it is opened when it is there */
function Attempts({ delivery, awaited }: { delivery: DeliveryDetail; awaited: number | undefined }) {
  const { attempt } = route.useSearch()
  const navigate = route.useNavigate()
  const newestFirst = delivery.attempts.toReversed()
  const newest = newestFirst[0]?.number
  // An attempt that comes by itself does not close the one that is being read.
  const [opened, setOpened] = useState(newest)
  const isThere = awaited !== undefined && newest !== undefined && newest >= awaited
  if (opened === undefined && newest !== undefined) setOpened(newest)
  else if (isThere && opened !== undefined && opened < awaited) setOpened(newest)
  const shown = attempt === undefined ? opened : Number(attempt)
  if (newestFirst.length === 0)
    return (
      <Section title="Attempts">
        <Notice>No attempts yet. The first one appears here when it finishes.</Notice>
      </Section>
    )
  return (
    <Section title="Attempts" description="Newest first">
      <ol className="border-l-2 border-line">
        {newestFirst.map((made) => {
          const isShown = made.number === shown
          return (
            <li key={made.number} className="relative pb-4 pl-5 last:pb-0">
              <span
                aria-hidden
                className={`absolute top-2.5 -left-[7px] size-3 rounded-full ${dots[outcomeOf(made)]}`}
              />
              <h3>
                <button
                  type="button"
                  aria-expanded={isShown}
                  className="flex min-h-8 w-full flex-wrap items-center gap-x-3 gap-y-0.5 rounded-md text-left hover:bg-sunken"
                  onClick={() =>
                    void navigate({
                      search: (before) => ({ ...before, attempt: isShown ? 'none' : String(made.number) }),
                      replace: true,
                    })
                  }
                >
                  <AttemptLine made={made} />
                </button>
              </h3>
              {isShown && (
                <div className="mt-2">
                  <Attempt delivery={delivery} made={made} />
                </div>
              )}
            </li>
          )
        })}
      </ol>
    </Section>
  )
}
