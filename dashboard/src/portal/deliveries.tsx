import { usePages } from '../api/use-pages.ts'
import { words } from '../language/words.ts'
import { Status, statusWord } from '../ui/badge.tsx'
import { LinkButton } from '../ui/button.tsx'
import { SelectField } from '../ui/fields.tsx'
import { Empty, ProblemNotice } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { asLabel } from '../ui/format.ts'
import type { Column } from '../ui/column.tsx'
import { DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { responseWord } from '../webhooks/response-word.ts'
import { api, type Delivery } from './client.ts'
import { DeliveryDrawer } from './delivery-drawer.tsx'
import { portalWords } from './language/load.ts'
import { goTo, usePlace, type Place } from './place.ts'

const statuses = () => [
  { value: '', label: portalWords.all },
  ...['pending', 'delivered', 'dead'].map((value) => ({ value, label: asLabel(statusWord(value)) })),
]

const columnsOf = (place: Place): readonly Column<Delivery>[] => [
  {
    key: 'time',
    header: portalWords.time,
    phone: 'secondary',
    width: '11rem',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    key: 'type',
    header: portalWords.event,
    phone: 'primary',
    cell: ({ id, eventType }) => (
      <LinkButton
        className="font-mono text-sm"
        title={eventType}
        onClick={() => goTo({ ...place, delivery: String(id) })}
      >
        {eventType}
      </LinkButton>
    ),
  },
  {
    key: 'status',
    header: words.attempt.status,
    width: '10rem',
    cell: ({ status }) => <Status value={status} />,
  },
  {
    key: 'attempts',
    header: portalWords.attempts,
    width: '6rem',
    align: 'right',
    cell: ({ attemptCount }) => attemptCount,
  },
  {
    key: 'answer',
    header: portalWords.lastResponse,
    phone: 'secondary',
    cell: ({ attemptCount, lastStatus, lastError }) => (
      <span title={lastError ?? undefined}>
        {attemptCount === 0 ? '–' : responseWord(lastStatus, lastError)}
      </span>
    ),
  },
]

/** The log of deliveries to an endpoint, newest first. */
export function Deliveries({ endpoint }: { endpoint: string }) {
  const place = usePlace()
  const { status, delivery } = place
  const { data, rows, error, loading, onMore, loadingMore } = usePages({
    key: ['deliveries', endpoint, status],
    read: (cursor, signal) =>
      api.get('/portal/subscribers/{id}/deliveries', {
        params: { id: endpoint },
        query: { limit: 50, cursor, status },
        signal,
      }),
    idOf: ({ id }) => id,
  })
  if (error && !data) return <ProblemNotice error={error} />
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section flush>
        <div className="w-44 p-3">
          <SelectField
            label={words.attempt.status}
            options={statuses()}
            value={status ?? ''}
            onChange={({ target }) =>
              goTo({ endpoint, tab: 'deliveries', status: target.value || undefined })
            }
          />
        </div>
        <DataTable
          label={words.replays.deliveries}
          columns={columnsOf(place)}
          rows={rows}
          rowKey={({ id }) => String(id)}
          isCurrent={({ id }) => String(id) === delivery}
          loading={loading}
          onMore={onMore}
          loadingMore={loadingMore}
          empty={
            <Empty title={status === undefined ? portalWords.noDeliveries : portalWords.noSuchDeliveries}>
              {status === undefined && portalWords.noDeliveriesHint}
            </Empty>
          }
        />
        {delivery !== undefined && (
          <DeliveryDrawer id={delivery} onClose={() => goTo({ ...place, delivery: undefined })} />
        )}
      </Section>
    </>
  )
}
