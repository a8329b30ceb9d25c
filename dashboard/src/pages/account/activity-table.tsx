import type { RowOf } from '../../api/answers.ts'
import type { usePages } from '../../api/use-pages.ts'
import {
  Badge,
  DataTable,
  Empty,
  Loading,
  ProblemNotice,
  Section,
  Time,
  type Column,
} from '../../ui/index.ts'

/** An entry of the audit log; for administrators with the names of those who acted. */
type Entry = RowOf<'GET /auth/audit'> & {
  byMe?: boolean
  actor?: string | null
  actorName?: string | null
}

/** The audit log of one account, newest first. */
export function ActivityTable({
  entries,
  title,
}: {
  entries: ReturnType<typeof usePages<Omit<Entry, 'byMe'>>>
  title?: string
}) {
  const { data, rows, error, retry, onMore, loadingMore } = entries
  return (
    <>
      {error && <ProblemNotice error={error} retry={retry} />}
      {!error && !data && <Loading />}
      {data && (
        <Section flush {...(title !== undefined && { title })}>
          <DataTable
            label="Activity"
            columns={columns}
            rows={rows}
            rowKey={({ id }) => id}
            onMore={onMore}
            loadingMore={loadingMore}
            empty={<Empty title="No activity yet" />}
          />
        </Section>
      )}
    </>
  )
}

const columns: Column<Omit<Entry, 'byMe'> & { byMe?: boolean }>[] = [
  { key: 'at', header: 'Time', width: '11rem', phone: 'secondary', cell: ({ at }) => <Time value={at} /> },
  {
    key: 'action',
    header: 'Action',
    phone: 'primary',
    cell: ({ action, code, supportId }) => (
      <>
        {action}{' '}
        {code !== null && (
          <span title={supportId === null ? undefined : `Reference ID ${supportId.slice(0, 8)}`}>
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
    header: 'IP address',
    width: '10rem',
    phone: 'secondary',
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
