import type { RowOf } from '../../api/answers.ts'
import { Badge, DataTable, Empty, ReadState, Section, Time, type Column } from '../../ui/index.ts'

/** An entry of the audit log; for administrators with the names of those who acted. */
type Entry = RowOf<'GET /auth/audit'> & {
  byMe?: boolean
  actor?: string | null
  actorName?: string | null
}

/** Pages of an audit log, as `useInfiniteQuery` reads them. */
interface Entries {
  data: { pages: readonly { data: readonly Omit<Entry, 'byMe'>[] }[] } | undefined
  error: unknown
  refetch: () => Promise<unknown>
  hasNextPage: boolean
  fetchNextPage: () => Promise<unknown>
  isFetchingNextPage: boolean
}

/** The audit log of one account, newest first. */
export function ActivityTable({ entries, title }: { entries: Entries; title?: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = entries
  return (
    <>
      <ReadState data={data} error={error} refetch={refetch} />
      {data && (
        <Section flush {...(title !== undefined && { title })}>
          <DataTable
            label="Activity"
            columns={columns}
            rows={data.pages.flatMap((page) => page.data)}
            rowKey={({ id }) => id}
            onMore={hasNextPage ? () => void fetchNextPage() : undefined}
            loadingMore={isFetchingNextPage}
            empty={<Empty title="Nothing happened yet" />}
          />
        </Section>
      )}
    </>
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
