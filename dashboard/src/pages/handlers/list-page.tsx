import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  DataTable,
  Empty,
  formatDuration,
  formatNumber,
  Page,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { waitingOf } from '../failures/group-columns.tsx'
import { AddHandlerDialog } from './add-handler.tsx'
import { ErrorRate, handlerName, HandlerStatus, type Handler } from './handler-health.tsx'
import { PauseButton, usePause } from './use-pause.tsx'

/** All handlers: their status, speed, errors and backlog, and a switch to pause each. */
export function ListPage() {
  const [adding, setAdding] = useState(false)
  const pause = usePause()
  const handlers = useQuery({
    queryKey: ['handlers'],
    queryFn: ({ signal }) => api.get('/handlers', { signal }),
  })
  return (
    <Page
      title="Handlers"
      description="Your code that processes received events. Runs, errors and duration cover the last hour."
      primary={
        <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setAdding(true)}>
          Add handler
        </Button>
      }
    >
      {handlers.error && <ProblemNotice error={handlers.error} retry={() => void handlers.refetch()} />}
      {pause.error && <ProblemNotice error={pause.error} />}
      <Section flush>
        <DataTable
          label="Handlers"
          columns={columnsOf(pause)}
          rows={handlers.data?.data ?? []}
          rowKey={({ id }) => id}
          loading={handlers.isPending}
          error={handlers.error}
          empty={
            <Empty title="No handlers" action={<Button onClick={() => setAdding(true)}>Add handler</Button>}>
              Events of types without a handler are stored, and no code runs.
            </Empty>
          }
        />
      </Section>
      <p className="text-sm text-soft">
        Waiting: events that have not run yet.
        <span className="max-md:hidden"> Lag: how long the oldest due event has been waiting.</span>
      </p>
      <AddHandlerDialog open={adding} onClose={() => setAdding(false)} />
    </Page>
  )
}

const columnsOf = (pause: ReturnType<typeof usePause>): Column<Handler>[] => [
  { key: 'pattern', header: 'Handler', width: '22%', cell: (handler) => <Name handler={handler} /> },
  {
    key: 'status',
    header: 'Status',
    width: '7rem',
    cell: (handler) => <HandlerStatus handler={handler} />,
  },
  {
    key: 'runs',
    header: 'Runs',
    align: 'right',
    cell: ({ recent: { handled, failures } }) => formatNumber(handled + failures),
  },
  {
    key: 'errors',
    header: 'Errors',
    align: 'right',
    phone: 'secondary',
    cell: ({ recent }) => <ErrorRate rate={recent.errorRate} />,
  },
  {
    key: 'duration',
    header: 'Duration',
    align: 'right',
    cell: ({ recent }) => (recent.durationMs === null ? '–' : formatDuration(recent.durationMs)),
  },
  {
    key: 'waiting',
    header: 'Waiting',
    align: 'right',
    phone: 'secondary',
    cell: ({ waiting }) => waitingText(waiting),
  },
  {
    key: 'lag',
    header: 'Lag',
    align: 'right',
    cell: ({ lagSeconds }) => (lagSeconds === 0 ? '–' : formatDuration(lagSeconds * 1000)),
  },
  {
    key: 'failed',
    header: 'Events with errors',
    align: 'right',
    width: '11rem',
    cell: (handler) => <Failed handler={handler} />,
  },
  {
    key: 'switch',
    header: <span className="sr-only">Action</span>,
    width: '8rem',
    align: 'right',
    phone: 'aside',
    cell: (handler) => <PauseButton small handler={handler} pause={pause} />,
  },
]

/** More are not counted. */
export const waitingText = (waiting: number): string =>
  `${formatNumber(waiting)}${waiting >= 1_000 ? '+' : ''}`

function Name({ handler }: { handler: Handler }) {
  const { id, source, forwardTo } = handler
  return (
    <>
      <Link to="/handlers/$id" params={{ id }} className="font-medium">
        {source === null ? <code className="font-mono text-sm">{id}</code> : handlerName(handler)}
      </Link>
      {source !== null && <span className="block truncate text-sm text-soft">to {forwardTo}</span>}
    </>
  )
}

function Failed({ handler: { id, failed, retrying } }: { handler: Handler }) {
  if (failed + retrying === 0) return 'none'
  return (
    <Link to="/failures" search={{ handler: id }} className="inline-block min-h-6 min-w-6">
      {waitingOf({ failed, retrying })}
    </Link>
  )
}
