import { getRouteApi, Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  Ago,
  Button,
  DataTable,
  Empty,
  formatNumber,
  Page,
  ProblemNotice,
  Section,
  SelectField,
  Status,
  type Column,
} from '../../ui/index.ts'
import { Hours } from './hours.tsx'

export type Group = RowOf<'GET /failures'>

const route = getRouteApi('/failures')
const states = ['open', 'acknowledged', 'snoozed', 'resolved', 'all'] as const

const columns: Column<Group>[] = [
  {
    key: 'error',
    header: 'Error',
    width: '36%',
    cell: ({ id, name, message, handler }) => (
      <>
        <Link
          to="/failures/$id"
          params={{ id }}
          className="block min-h-6 truncate font-medium text-accent hover:underline"
        >
          {name}: {message}
        </Link>
        <span className="text-sm text-soft">in {handler}</span>
      </>
    ),
  },
  { key: 'state', header: 'State', cell: ({ state }) => <Status value={state} /> },
  {
    key: 'hours',
    header: 'Last 24 hours',
    width: '11rem',
    cell: ({ hours }) => <Hours hours={hours} length={24} />,
  },
  { key: 'waiting', header: 'Events', align: 'right', cell: (group) => waitingOf(group) },
  { key: 'last', header: 'Last failure', cell: ({ lastAt }) => <Ago value={lastAt} /> },
]

/** How many events of a group need somebody. */
export function waitingOf({ failed, retrying }: Pick<Group, 'failed' | 'retrying'>): string {
  const of = (count: number): string => (count >= 1_000 ? `${formatNumber(count)}+` : String(count))
  const parts = [
    ...(failed > 0 ? [`${of(failed)} failed`] : []),
    ...(retrying > 0 ? [`${of(retrying)} retrying`] : []),
  ]
  return parts.length === 0 ? 'none' : parts.join(', ')
}

/** Failures with the same cause, as one row each. */
export function ListPage() {
  const { state = 'open', handler } = route.useSearch()
  const navigate = route.useNavigate()
  const query = {
    ...(state !== 'all' && { state }),
    ...(handler !== undefined && { handler }),
  }
  const groups = usePages({
    key: ['failures', query],
    read: (cursor, signal) => api.get('/failures', { query: { ...query, cursor }, signal }),
    idOf: ({ id }) => id,
    moves: true,
  })
  return (
    <Page title="Failures" description="Failed and retried events, grouped by handler and error.">
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <SelectField
          label="State"
          value={state}
          onChange={(event) => {
            const next = event.target.value
            void navigate({
              search: { ...(handler !== undefined && { handler }), ...(next !== 'open' && { state: next }) },
            })
          }}
          options={states}
        />
        {handler !== undefined && (
          <Button onClick={() => void navigate({ search: state === 'open' ? {} : { state } })}>
            Only {handler} ✕
          </Button>
        )}
      </div>
      {groups.error && <ProblemNotice error={groups.error} retry={groups.retry} />}
      <Section flush>
        <DataTable
          label="Groups of failures"
          columns={columns}
          rows={groups.rows}
          rowKey={({ id }) => id}
          loading={groups.loading}
          error={groups.error}
          onMore={groups.onMore}
          loadingMore={groups.loadingMore}
          empty={
            <Empty title={state === 'open' ? 'No handler fails' : 'No group is in this state'}>
              When a handler throws, its failures appear here as one group for each cause.
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}
