import { FilterBar, statusWord, type Filter } from '../../ui/index.ts'

const statuses = [
  'pending',
  'retrying',
  'blocked',
  'processed',
  'unhandled',
  'failed',
  'delivered',
  'scheduled',
  'canceled',
  'unsubscribed',
].map((value) => ({ value, label: statusWord(value) }))

const filters: readonly Filter[] = [
  { name: 'status', label: 'Status', options: [{ value: '', label: 'Any status' }, ...statuses] },
  { name: 'type', label: 'Type', placeholder: 'order.*' },
  {
    name: 'direction',
    label: 'Direction',
    options: [
      { value: '', label: 'In and out' },
      { value: 'received', label: 'Received' },
      { value: 'emitted', label: 'Sent' },
    ],
  },
  { name: 'source', label: 'Source', placeholder: 'provider' },
  { name: 'eventId', label: 'Event ID', more: true },
  { name: 'orderKey', label: 'Order key', more: true },
  { name: 'since', label: 'From', type: 'time', more: true },
  { name: 'until', label: 'To', type: 'time', more: true },
  { name: 'path', label: 'Body field', placeholder: 'data.customer', more: true },
  { name: 'value', label: 'Field value', placeholder: 'cus_1', more: true },
  { name: 'text', label: 'Body text', hint: 'Case-sensitive', more: true },
]

export const Filters = () => <FilterBar label="Filter events" filters={filters} />
