import { Link } from '@tanstack/react-router'
import { type Column, DataTable, Section, Time } from '../../ui/index.ts'
import { responseWord } from '../../webhooks/response-word.ts'
import { DeliveryStatus, linkLook } from '../deliveries/delivery-table.tsx'
import { subscriberName } from './way-steps.ts'
import type { EventDetail } from './use-event.ts'

type Delivery = EventDetail['deliveries'][number]

const columns: Column<Delivery>[] = [
  {
    key: 'subscriber',
    header: 'Endpoint',
    cell: (delivery) => (
      <Link
        to="/subscribers/$id"
        params={{ id: delivery.subscriberId }}
        title={delivery.subscriberHost}
        className={linkLook}
      >
        {subscriberName(delivery)}
      </Link>
    ),
  },
  {
    key: 'status',
    header: 'Status',
    width: '8rem',
    cell: ({ status, attempts }) => <DeliveryStatus status={status} attemptCount={attempts} />,
  },
  {
    key: 'attempts',
    header: 'Attempts',
    align: 'right',
    width: '7rem',
    cell: ({ attempts }) => attempts,
  },
  {
    key: 'last',
    header: 'Response',
    cell: ({ attempts, lastStatus, lastError }) =>
      attempts === 0 ? 'not attempted yet' : responseWord(lastStatus, lastError),
  },
  {
    key: 'delivery',
    header: 'Created',
    width: '11rem',
    cell: ({ id, createdAt }) => (
      <Link to="/deliveries/$id" params={{ id: String(id) }} className={linkLook}>
        <Time value={createdAt} />
      </Link>
    ),
  },
]

/** Where the event, or what its handler emitted, was sent. */
export function Deliveries({ deliveries }: { deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return null
  return (
    <Section title="Deliveries" flush>
      <DataTable<Delivery>
        label="Deliveries"
        rows={deliveries}
        rowKey={({ id }) => String(id)}
        empty={null}
        columns={columns}
      />
    </Section>
  )
}
