import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { Empty, ProblemNotice, Section, SelectField, TextField } from '../../ui/index.ts'
import { DeliveryTable } from '../deliveries/delivery-table.tsx'
import { usePages } from '../../api/use-pages.ts'

const route = getRouteApi('/subscribers/$id')
const statuses = [
  { value: '', label: 'Any status' },
  ...['pending', 'delivered', 'dead'].map((value) => ({ value, label: value })),
]

/** What was sent to one subscriber, newest first. */
export function DeliveriesTab({ id }: { id: string }) {
  const { status, type } = route.useSearch()
  const navigate = route.useNavigate()
  const pages = usePages({
    key: ['deliveries', 'of', id, status, type],
    read: (cursor, signal) =>
      api.get('/deliveries', {
        query: { subscriber: id, status, eventType: type, limit: 50, cursor },
        signal,
      }),
    idOf: ({ id }) => id,
  })
  const set = (change: { status?: string | undefined; type?: string | undefined }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <>
      <div className="mb-4 grid max-w-xl gap-3 sm:grid-cols-2">
        <SelectField
          label="Status"
          options={statuses}
          value={status ?? ''}
          onChange={({ target }) => set({ status: target.value || undefined })}
        />
        <TextField
          label="Event type"
          key={`type-${type ?? ''}`}
          defaultValue={type ?? ''}
          onBlur={({ target }) =>
            target.value !== (type ?? '') && set({ type: target.value.trim() || undefined })
          }
          onKeyDown={(pressed) => pressed.key === 'Enter' && pressed.currentTarget.blur()}
        />
      </div>
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <DeliveryTable
          of="subscriber"
          pages={pages}
          empty={
            <Empty title={(status ?? type) ? 'No delivery matches' : 'Nothing was sent yet'}>
              {(status ?? type) ? 'Remove a filter.' : 'Send a test event with the button above.'}
            </Empty>
          }
        />
      </Section>
    </>
  )
}
