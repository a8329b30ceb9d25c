import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Pause, Play } from 'lucide-react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  DataTable,
  Empty,
  formatDuration,
  formatPercent,
  formatShort,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  useConfirm,
  type Column,
} from '../../ui/index.ts'

type Handler = RowOf<'GET /handlers'>

const example = `handlers: {
  'order.*': async (event, { tx }) => { … },
}`

/** All handlers: their backlog, speed and errors, and a switch to pause each. */
export function ListPage() {
  const handlers = useQuery({
    queryKey: ['handlers'],
    queryFn: ({ signal }) => api.get('/handlers', { signal }),
  })
  return (
    <Page
      title="Handlers"
      description="What processes the events. Duration and errors are those of the last hour."
    >
      {handlers.error && <ProblemNotice error={handlers.error} retry={() => void handlers.refetch()} />}
      <HandlerTable rows={handlers.data?.data ?? []} loading={handlers.isPending} error={handlers.error} />
    </Page>
  )
}

const columnsOf = (pause: ReturnType<typeof usePause>): Column<Handler>[] => [
  { key: 'pattern', header: 'Handler', width: '24%', cell: (handler) => <Name handler={handler} /> },
  { key: 'state', header: 'State', width: '15rem', cell: (handler) => <State handler={handler} /> },
  {
    key: 'slots',
    header: 'At once',
    align: 'right',
    cell: ({ slots, slotsOf }) => <span title={`for each ${slotsOf}`}>{slots}</span>,
  },
  {
    key: 'lag',
    header: 'Lag',
    align: 'right',
    cell: ({ lagSeconds }) => (lagSeconds === 0 ? '0 s' : formatDuration(lagSeconds * 1000)),
  },
  {
    key: 'waiting',
    header: 'Waiting',
    align: 'right',
    cell: ({ waiting }) => `${formatShort(waiting)}${waiting >= 1_000 ? '+' : ''}`,
  },
  { key: 'failing', header: 'Failing', align: 'right', cell: (handler) => <Failing handler={handler} /> },
  {
    key: 'duration',
    header: 'Duration',
    align: 'right',
    cell: ({ recent }) => (recent.durationMs === null ? '–' : formatDuration(recent.durationMs)),
  },
  {
    key: 'errors',
    header: 'Errors',
    align: 'right',
    cell: ({ recent }) => (recent.errorRate === null ? '–' : formatPercent(recent.errorRate)),
  },
  {
    key: 'switch',
    header: 'Action',
    width: '8rem',
    align: 'right',
    cell: (handler) => (
      <Button
        small
        aria-label={`${handler.paused ? 'Resume' : 'Pause'} ${handler.id}`}
        icon={handler.paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
        busy={pause.isPending && pause.variables?.id === handler.id}
        onClick={() => void pause.ask(handler)}
      >
        {handler.paused ? 'Resume' : 'Pause'}
      </Button>
    ),
  },
]

function HandlerTable({
  rows,
  loading,
  error,
}: {
  rows: readonly Handler[]
  loading: boolean
  error: unknown
}) {
  const pause = usePause()
  return (
    <>
      {pause.error && <ProblemNotice error={pause.error} />}
      <Section flush>
        <DataTable
          label="Handlers"
          columns={columnsOf(pause)}
          rows={rows}
          rowKey={({ id }) => id}
          loading={loading}
          error={error}
          empty={
            <Empty title="No handler is declared" command={example}>
              Declare handlers in receiving of the configuration module. Events without one are stored with
              the status unhandled.
            </Empty>
          }
        />
      </Section>
    </>
  )
}

function Name({ handler: { pattern, source, forwardTo } }: { handler: Handler }) {
  if (source === null) return <code className="font-mono text-sm font-medium">{pattern}</code>
  return (
    <>
      <span className="font-medium">forwards {source}</span>{' '}
      <span className="block truncate text-sm text-soft">to {forwardTo}</span>
    </>
  )
}

function State({ handler: { paused } }: { handler: Handler }) {
  if (!paused) return <Status value="running" />
  return (
    <>
      <Status value="paused" />{' '}
      <span className="block truncate text-sm text-soft">
        since <Time value={paused.at} />, by{' '}
        {paused.byName ?? paused.by?.replace(/^(\w+):(.{8}).+$/, '$1 $2…') ?? 'somebody'}
      </span>
    </>
  )
}

function Failing({ handler: { id, failed, retrying } }: { handler: Handler }) {
  if (failed + retrying === 0) return '0'
  return (
    <Link
      to="/failures"
      search={{ handler: id }}
      title={`${failed} failed, ${retrying} retrying`}
      className="inline-block min-h-6 min-w-6 text-danger underline"
    >
      {formatShort(failed + retrying)}
    </Link>
  )
}

function usePause() {
  const confirm = useConfirm()
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: ({ id, paused }: Handler) =>
      paused
        ? api.post('/handlers/{id}/resume', { params: { id } })
        : api.post('/handlers/{id}/pause', { params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['handlers'] }),
  })
  const ask = async (handler: Handler): Promise<void> => {
    const yes =
      handler.paused !== null ||
      (await confirm({
        title: `Pause ${handler.id}?`,
        consequence:
          'Its events are accepted and wait until somebody resumes it, also those that other handlers match too. Running ones end.',
        action: 'Pause',
      }))
    if (yes) change.mutate(handler)
  }
  return { ...change, ask }
}
