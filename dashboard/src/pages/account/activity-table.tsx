import type { RowOf } from '../../api/answers.ts'
import { Badge, DataTable, Empty, Time, type Column } from '../../ui/index.ts'

/** An entry of the audit log; for administrators with the names of those who acted. */
type Entry = RowOf<'GET /auth/audit'> & {
  byMe?: boolean
  actor?: string | null
  actorName?: string | null
}

/** The audit log of one account, newest first. */
export function ActivityTable({
  entries,
  loading,
  onMore,
  loadingMore,
}: {
  entries: readonly Omit<Entry, 'byMe'>[]
  loading: boolean
  onMore: (() => void) | undefined
  loadingMore: boolean
}) {
  return (
    <DataTable
      label="Activity"
      columns={columns}
      rows={entries}
      rowKey={({ id }) => id}
      loading={loading}
      onMore={onMore}
      loadingMore={loadingMore}
      empty={<Empty title="Nothing happened yet" />}
    />
  )
}

const columns: Column<Omit<Entry, 'byMe'> & { byMe?: boolean }>[] = [
  { key: 'at', header: 'Time', width: '11rem', cell: ({ at }) => <Time value={at} /> },
  {
    key: 'action',
    header: 'Action',
    cell: ({ action, code, supportId }) => (
      <>
        {action}{' '}
        {code !== null && (
          <span title={supportId === null ? undefined : `Support id ${supportId}`}>
            <Badge tone="danger">{code}</Badge>
          </span>
        )}
      </>
    ),
  },
  { key: 'provider', header: 'Provider', width: '8rem', cell: ({ provider }) => provider ?? '' },
  { key: 'by', header: 'By', width: '11rem', cell: actorOf },
  {
    key: 'address',
    header: 'Address',
    width: '10rem',
    hideOnPhone: true,
    cell: ({ address }) => address ?? '',
  },
]

function actorOf({
  byMe,
  actor,
  actorName,
}: {
  byMe?: boolean
  actor?: string | null
  actorName?: string | null
}) {
  if (byMe !== undefined) return byMe ? 'you' : ''
  return actorName ?? actor ?? 'unknown'
}
