import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { api } from '../../api/client.ts'
import { startOf, useRange } from '../../layout/time-range.ts'
import {
  Button,
  CheckField,
  Empty,
  Page,
  ProblemNotice,
  Section,
  SelectField,
  TextField,
} from '../../ui/index.ts'
import { DeliveryTable } from './delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'

const route = getRouteApi('/deliveries')

const statuses = [
  { value: '', label: 'Any status' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Dead: given up' },
]
const responses = [
  { value: '', label: 'Any response' },
  { value: '2xx', label: '2xx' },
  { value: '3xx', label: '3xx' },
  { value: '4xx', label: '4xx' },
  { value: '5xx', label: '5xx' },
  { value: 'none', label: 'No response' },
]

/** The deliveries of all subscribers. */
export function ListPage() {
  const search = route.useSearch()
  const range = useRange()
  const { status, subscriber, owner, type, event, response, all } = search
  const isFiltered = Boolean(status ?? subscriber ?? owner ?? type ?? event ?? response)
  // A cursor belongs to the filters of its first page, so the time stays while the person is here.
  const since = useMemo(() => startOf(range), [range])
  const pages = usePages({
    key: ['deliveries', 'all', search, since],
    read: (cursor, signal) =>
      api.get('/deliveries', {
        query: {
          status,
          subscriber,
          owner,
          eventType: type,
          eventId: event,
          response,
          ...(all === undefined && { since }),
          limit: 50,
          cursor,
        },
        signal,
      }),
    idOf: ({ id }) => id,
    refresh: 5_000,
  })
  return (
    <Page title="Deliveries" description="Each event goes to each subscriber that wants it, as one delivery.">
      <Filters />
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DeliveryTable
          pages={pages}
          empty={
            <Empty title={isFiltered ? 'No delivery matches' : 'No deliveries in this time'}>
              {isFiltered
                ? 'Remove a filter, or choose a longer time range above.'
                : 'A delivery appears when an event is emitted that a subscriber wants.'}
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}

function Filters() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<typeof search>): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  const text = (name: 'type' | 'event' | 'owner' | 'subscriber', label: string) => (
    <TextField
      key={`${name}-${search[name] ?? ''}`}
      label={label}
      defaultValue={search[name] ?? ''}
      onBlur={({ target }) =>
        target.value !== (search[name] ?? '') && set({ [name]: target.value.trim() || undefined })
      }
      onKeyDown={(pressed) => pressed.key === 'Enter' && pressed.currentTarget.blur()}
    />
  )
  return (
    <div
      role="search"
      aria-label="Filter deliveries"
      className="mb-4 grid grid-cols-2 gap-3 sm:grid-cols-3 xl:grid-cols-6"
    >
      <SelectField
        label="Status"
        options={statuses}
        value={search.status ?? ''}
        onChange={({ target }) => set({ status: target.value || undefined })}
      />
      <SelectField
        label="Response"
        options={responses}
        value={search.response ?? ''}
        onChange={({ target }) => set({ response: target.value || undefined })}
      />
      {text('type', 'Event type')}
      {text('event', 'Event id')}
      {text('owner', 'Customer')}
      {text('subscriber', 'Subscriber id')}
      <div className="col-span-2 flex flex-wrap items-center gap-3 sm:col-span-3 xl:col-span-6">
        <CheckField
          label="Of all times"
          checked={search.all !== undefined}
          onChange={({ target }) => set({ all: target.checked ? '1' : undefined })}
        />
        <Button
          small
          kind="quiet"
          onClick={() => void navigate({ search: ({ range }) => (range ? { range } : {}) })}
        >
          Clear filters
        </Button>
      </div>
    </div>
  )
}
