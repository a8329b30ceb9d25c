import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { DataTable, Status, Time, type Column } from '../../ui/index.ts'
import { SearchOn } from './search-on.tsx'
import type { usePages } from '../../api/use-pages.ts'

export type Delivery = RowOf<'GET /deliveries'>

export const linkLook = 'text-accent underline underline-offset-2'

/** The words for a delivery: one that waits for a retry is not new. */
export const wordFor = ({ status, attemptCount }: Pick<Delivery, 'status' | 'attemptCount'>): string =>
  status === 'pending' && attemptCount > 0 ? 'retrying' : status

export function DeliveryStatus(delivery: Pick<Delivery, 'status' | 'attemptCount'>) {
  return <Status value={wordFor(delivery)} />
}

/** What the newest attempt brought. */
export function lastResult({ attemptCount, lastStatus, lastError }: Delivery): string {
  if (attemptCount === 0) return 'not attempted yet'
  return lastError ?? (lastStatus === null ? 'no response' : `answered ${lastStatus}`)
}

/** `https://` is the same for all, and hides what tells them apart. */
const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, '')

const columns: readonly Column<Delivery>[] = [
  { key: 'status', header: 'Status', width: '7rem', cell: (row) => <DeliveryStatus {...row} /> },
  {
    key: 'type',
    header: 'Event',
    cell: ({ id, eventType }) => (
      <Link to="/deliveries/$id" params={{ id: String(id) }} className={linkLook}>
        {eventType}
      </Link>
    ),
  },
  {
    key: 'subscriber',
    header: 'Subscriber',
    cell: ({ subscriberId, subscriberUrl }) => (
      <Link to="/subscribers/$id" params={{ id: subscriberId }} className={linkLook} title={subscriberUrl}>
        {withoutScheme(subscriberUrl)}
      </Link>
    ),
  },
  {
    key: 'owner',
    header: 'Customer',
    width: '7rem',
    hideOnPhone: true,
    cell: ({ owner }) => <Owner owner={owner} />,
  },
  {
    key: 'result',
    header: 'Last result',
    width: '10rem',
    cell: (row) => <span title={lastResult(row)}>{lastResult(row)}</span>,
  },
  {
    key: 'attempts',
    header: 'Attempts',
    align: 'right',
    width: '6rem',
    cell: ({ attemptCount }) => attemptCount,
  },
  { key: 'created', header: 'Created', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
]

function Owner({ owner }: { owner: string | null }) {
  if (owner === null) return '–'
  return (
    <Link to="/customers/$owner" params={{ owner }} className={linkLook}>
      {owner}
    </Link>
  )
}

/** What all rows have in common need not be in each. */
const left = { subscriber: ['subscriber', 'owner'], customer: ['owner'] } as const

/** Deliveries, newest first. `of`: all are of one subscriber, or of one customer. */
export function DeliveryTable({
  pages,
  empty,
  of,
}: {
  pages: ReturnType<typeof usePages<Delivery>>
  empty: ReactNode
  of?: keyof typeof left
}) {
  return (
    <DataTable
      label="Deliveries"
      columns={of ? columns.filter(({ key }) => !(left[of] as readonly string[]).includes(key)) : columns}
      rows={pages.rows}
      rowKey={({ id }) => String(id)}
      loading={pages.loading}
      error={pages.error}
      onMore={pages.onMore}
      loadingMore={pages.loadingMore}
      empty={pages.onMore ? <SearchOn onMore={pages.onMore} busy={pages.loadingMore} /> : empty}
    />
  )
}
