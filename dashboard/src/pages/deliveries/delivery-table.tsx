import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { DataTable, Status, Time, type Column } from '../../ui/index.ts'
import { responseWord } from '../../webhooks/response-word.ts'
import { CustomerLink } from '../customers/customer-fact.tsx'
import { SearchOn } from './search-on.tsx'
import type { usePages } from '../../api/use-pages.ts'

export type Delivery = RowOf<'GET /deliveries'>

/** For links outside of tables, facts and sentences. */
export const linkLook = 'text-accent hover:underline'

/** The words for a delivery: one that waits for a retry is not new. */
export const wordFor = ({ status, attemptCount = 0 }: { status: string; attemptCount?: number }): string =>
  status === 'dead' ? 'failed' : status === 'pending' && attemptCount > 0 ? 'retrying' : status

export function DeliveryStatus(delivery: { status: string; attemptCount: number }) {
  return <Status value={wordFor(delivery)} />
}

/** What the newest attempt brought. */
export function lastResult({ attemptCount, lastStatus, lastError }: Delivery): string {
  if (attemptCount === 0) return 'not attempted yet'
  return responseWord(lastStatus, lastError)
}

/** `https://` is the same for all, and hides what tells them apart. */
const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, '')

const columns: readonly Column<Delivery>[] = [
  { key: 'status', header: 'Status', width: '7rem', cell: (row) => <DeliveryStatus {...row} /> },
  {
    key: 'type',
    header: 'Event type',
    width: '17rem',
    phone: 'primary',
    cell: ({ id, eventType }) => (
      <Link to="/deliveries/$id" params={{ id: String(id) }} title={eventType}>
        {eventType}
      </Link>
    ),
  },
  {
    key: 'subscriber',
    header: 'Endpoint',
    phone: 'secondary',
    cell: ({ subscriberId, subscriberUrl }) => (
      <Link to="/subscribers/$id" params={{ id: subscriberId }} title={subscriberUrl}>
        {withoutScheme(subscriberUrl)}
      </Link>
    ),
  },
  {
    key: 'owner',
    header: 'Customer',
    width: '7rem',
    phone: 'hidden',
    cell: (row) => <CustomerLink {...row} />,
  },
  {
    key: 'result',
    header: 'Response',
    width: '8rem',
    cell: (row) => <span title={lastResult(row)}>{lastResult(row)}</span>,
  },
  {
    key: 'attempts',
    header: 'Attempts',
    align: 'right',
    width: '6rem',
    cell: ({ attemptCount }) => attemptCount,
  },
  {
    key: 'created',
    header: 'Created',
    width: '10.5rem',
    phone: 'secondary',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
]

/** What all rows have in common need not be in each. */
const left = { subscriber: ['subscriber', 'owner'], customer: ['owner'] } as const

/** Deliveries, newest first. `of`: all are of one endpoint, or of one customer. */
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
