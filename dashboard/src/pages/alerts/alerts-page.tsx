import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import {
  Ago,
  Badge,
  Button,
  DataTable,
  Dialog,
  durationInWords,
  elapsedInWords,
  Empty,
  formatTime,
  LinkButton,
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
import { conditions, kinds, what, type Destination, type Kind, type Sending } from './kinds.ts'

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
      description="Notifies you when a problem starts, while it continues, and when it is resolved."
      primary={<AddMenu onAdd={(kind) => setEdited({ kind })} />}
    >
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && destinations.length === 0 && (
        <Section>
          <Empty title="No destinations yet">
            Add an email address or a Slack, Discord or Microsoft Teams channel, then send a test alert.
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

/** The problems that destinations are notified of now. */
function OpenNow() {
  const { data, error, refetch } = useQuery({
    queryKey: ['attention'],
    queryFn: ({ signal }) => api.get('/attention', { signal }),
  })
  const found = data?.data ?? []
  return (
    <Section title="Open alerts" flush={found.length > 0}>
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && found.length === 0 && <p className="text-soft">No open alerts.</p>}
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
                <span className="text-soft" title={formatTime(since)}>
                  for {elapsedInWords(since)}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function AddMenu({ onAdd }: { onAdd: (kind: Kind) => void }) {
  return (
    <Menu
      label="Add destination"
      kind="primary"
      trigger={
        <>
          <Plus size={17} aria-hidden /> Add destination
        </>
      }
      items={everyKind.map((kind) => ({ label: kinds[kind].label, run: () => onAdd(kind) }))}
    />
  )
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
    onSuccess: (_answer, on) => toast(on ? `Turned on ${name}` : `Turned off ${name}`),
    onSettled,
  })
  const remove = useMutation({
    mutationFn: () => api.delete('/alerts/{id}', { params: { id } }),
    onSuccess: () => toast(`Deleted ${name}`),
    onSettled,
  })
  const confirmRemove = async (): Promise<void> => {
    const yes = await ask({
      title: `Delete ${name}?`,
      consequence: 'It receives no more alerts, and its message log is deleted.',
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
            aria-label={`Send test to ${name}`}
            onClick={() => test.mutate()}
          >
            Send test
          </Button>
          <Menu
            label={`More actions for ${name}`}
            items={[
              { label: 'Edit…', run: onEdit },
              { label: enabled ? 'Turn off' : 'Turn on', run: () => change.mutate(!enabled) },
              { label: 'View messages', run: onPeek },
              { label: 'Delete…', run: () => void confirmRemove(), danger: true },
            ]}
          />
        </>
      }
    >
      {error && <ProblemNotice error={error} />}
      {test.data &&
        (test.data.status === 'sent' ? (
          <Notice>Test alert sent. Check that it has arrived.</Notice>
        ) : (
          <Notice tone="danger">Test alert failed: {test.data.error}</Notice>
        ))}
      <p className="text-soft">
        {destination.conditions === null
          ? 'All problems'
          : destination.conditions.map((one) => conditions[one]).join(' · ')}
        . {severity === 'error' && 'Errors only. '}
        {repeatSeconds === null
          ? 'No reminders'
          : `Reminder every ${durationInWords(repeatSeconds).replace(/^1 /, '')}`}
        .
      </p>
      <p className="mt-1">
        {lastSending === null ? (
          <span className="text-soft">No messages yet.</span>
        ) : (
          <>
            <LinkButton onClick={onPeek}>Last message</LinkButton> <Ago value={lastSending.createdAt} />:{' '}
            {lastSending.subject} <Status value={lastSending.status} />
          </>
        )}
      </p>
    </Section>
  )
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
      description="Last 30 days, newest first."
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
        empty={<Empty title="No messages yet" />}
      />
    </Dialog>
  )
}
