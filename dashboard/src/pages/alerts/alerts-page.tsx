import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import {
  Ago,
  Badge,
  Button,
  DataTable,
  Dialog,
  Empty,
  Loading,
  Menu,
  Notice,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  toast,
  useConfirm,
  type Column,
} from '../../ui/index.ts'
import { DestinationDialog } from './destination-dialog.tsx'
import { addText, conditions, kinds, what, type Destination, type Kind, type Sending } from './kinds.ts'

const route = getRouteApi('/alerts')
const everyKind = Object.keys(kinds) as Kind[]

/** Where alerts go, whether they arrive, and what was sent. */
export function AlertsPage() {
  const { destination: peeked } = route.useSearch()
  const navigate = route.useNavigate()
  const [edited, setEdited] = useState<{ kind: Kind; destination?: Destination }>()
  const { data, error, refetch } = useQuery({
    queryKey: ['alerts'],
    queryFn: ({ signal }) => api.get('/alerts', { query: { limit: '100' }, signal }),
  })
  const destinations = data?.data ?? []
  const peek = (id: string | undefined): void =>
    void navigate({ search: (before) => ({ ...before, destination: id }) })
  const shown = destinations.find(({ id }) => id === peeked)
  return (
    <Page
      title="Alerts"
      description="Tells people what needs them: once when it begins, again while it lasts, and when it is over."
      actions={<AddButtons onAdd={(kind) => setEdited({ kind })} />}
    >
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && destinations.length === 0 && (
        <Section>
          <Empty title="Nobody is told yet">
            Add a destination: a mail address, or a channel of Slack, Discord or Microsoft Teams. Then send it
            a test.
          </Empty>
        </Section>
      )}
      {destinations.map((destination) => (
        <DestinationCard
          key={destination.id}
          destination={destination}
          onEdit={() => setEdited({ kind: destination.kind, destination })}
          onPeek={() => peek(destination.id)}
        />
      ))}
      <OpenNow />
      <DestinationDialog
        kind={edited?.kind}
        destination={edited?.destination}
        onClose={() => setEdited(undefined)}
      />
      {shown && <Sendings destination={shown} onClose={() => peek(undefined)} />}
    </Page>
  )
}

/** What destinations are told of at the moment. */
function OpenNow() {
  const { data, error, refetch } = useQuery({
    queryKey: ['attention'],
    queryFn: ({ signal }) => api.get('/attention', { signal }),
  })
  const found = data?.data ?? []
  return (
    <Section title="Open now" flush={found.length > 0}>
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && found.length === 0 && <p className="text-soft">Nothing needs a person.</p>}
      {found.length > 0 && (
        <ul className="divide-y divide-line">
          {found.map(({ kind, severity, text, since, about }) => (
            <li
              key={`${kind} ${about.topic} ${about.id}`}
              className="flex flex-wrap items-baseline gap-x-3 px-4 py-2.5"
            >
              <Status value={severity} />
              <span className="min-w-0 flex-1 basis-56 break-words">{text}</span>
              {since !== null && (
                <span className="text-soft">
                  since <Time value={since} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function AddButtons({ onAdd }: { onAdd: (kind: Kind) => void }) {
  return everyKind.map((kind) => (
    <Button key={kind} onClick={() => onAdd(kind)}>
      {addText(kind)}
    </Button>
  ))
}

function DestinationCard({
  destination,
  onEdit,
  onPeek,
}: {
  destination: Destination
  onEdit: () => void
  onPeek: () => void
}) {
  const { id, kind, name, host, to, enabled, severity, repeatSeconds, lastSending } = destination
  const ask = useConfirm()
  const queryClient = useQueryClient()
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ['alerts'] })
  const test = useMutation({ mutationFn: () => api.post('/alerts/{id}/test', { params: { id } }), onSettled })
  const change = useMutation({
    mutationFn: (on: boolean) => api.patch('/alerts/{id}', { params: { id }, body: { enabled: on } }),
    onSuccess: (_answer, on) => toast(on ? `${name} is on` : `${name} is off`),
    onSettled,
  })
  const remove = useMutation({
    mutationFn: () => api.delete('/alerts/{id}', { params: { id } }),
    onSuccess: () => toast(`${name} was deleted`),
    onSettled,
  })
  const confirmRemove = async (): Promise<void> => {
    const yes = await ask({
      title: `Delete ${name}?`,
      consequence: 'It is told nothing any more, and the list of its messages is deleted.',
      action: 'Delete',
    })
    if (yes) remove.mutate()
  }
  const error = test.error ?? change.error ?? remove.error
  return (
    <Section
      title={name}
      description={`${kinds[kind].label} · ${to?.join(', ') ?? host ?? ''}`}
      actions={
        <>
          {enabled ? <Status value="active">on</Status> : <Badge>off</Badge>}
          <Button
            small
            busy={test.isPending}
            aria-label={`Send a test to ${name}`}
            onClick={() => test.mutate()}
          >
            Send a test
          </Button>
          <Menu
            label={`More about ${name}`}
            items={[
              { label: 'Change…', run: onEdit },
              { label: enabled ? 'Turn off' : 'Turn on', run: () => change.mutate(!enabled) },
              { label: 'Messages', run: onPeek },
              { label: 'Delete…', run: () => void confirmRemove(), danger: true },
            ]}
          />
        </>
      }
    >
      {error && <ProblemNotice error={error} />}
      {test.data &&
        (test.data.status === 'sent' ? (
          <Notice>The test was accepted. Look whether it has arrived.</Notice>
        ) : (
          <Notice tone="danger">The test could not be sent: {test.data.error}</Notice>
        ))}
      <p className="text-soft">
        {destination.conditions === null
          ? 'All kinds of conditions'
          : destination.conditions.map((one) => conditions[one]).join(' · ')}
        . {severity === 'error' && 'Only what fails now. '}
        {repeatSeconds === null ? 'No reminders' : `A reminder every ${inWords(repeatSeconds)}`}.
      </p>
      <p className="mt-1">
        {lastSending === null ? (
          <span className="text-soft">Nothing was sent yet.</span>
        ) : (
          <>
            <button type="button" className="min-h-6 underline" onClick={onPeek}>
              Last message
            </button>{' '}
            <Ago value={lastSending.createdAt} />: {lastSending.subject} <Status value={lastSending.status} />
          </>
        )}
      </p>
    </Section>
  )
}

function inWords(seconds: number): string {
  const hours = seconds / 3_600
  if (hours === 24) return 'day'
  if (hours === 1) return 'hour'
  return Number.isInteger(hours) ? `${hours} hours` : `${Math.round(seconds / 60)} minutes`
}

const columns: readonly Column<Sending>[] = [
  { key: 'at', header: 'Time', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'subject',
    header: 'Message',
    cell: ({ what: kind, subject, error }) => (
      <span className="whitespace-normal">
        <Badge>{what[kind]}</Badge> {subject}
        {error !== null && <span className="block text-sm text-danger">{error}</span>}
      </span>
    ),
  },
  {
    key: 'status',
    header: 'State',
    width: '7rem',
    cell: ({ status, attempts }) => (
      <Status value={status}>{attempts > 1 ? `${status}, ${attempts} attempts` : status}</Status>
    ),
  },
]

function Sendings({ destination: { id, name }, onClose }: { destination: Destination; onClose: () => void }) {
  const { data, error } = useQuery({
    queryKey: ['alerts', id, 'sendings'],
    queryFn: ({ signal }) =>
      api.get('/alerts/{id}/sendings', { params: { id }, query: { limit: '100' }, signal }),
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Messages to ${name}`}
      description="Of the last 30 days, newest first."
      place="drawer"
    >
      {error && <ProblemNotice error={error} />}
      <DataTable
        label={`Messages to ${name}`}
        columns={columns}
        rows={data?.data ?? []}
        rowKey={(row) => row.id}
        loading={!data && !error}
        error={error}
        empty={<Empty title="Nothing was sent yet" />}
      />
    </Dialog>
  )
}
