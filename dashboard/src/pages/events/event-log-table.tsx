import { useCallback, useMemo, useRef, useState } from 'react'
import { addressOf } from '../../api/client.ts'
import type { EventRow } from '../../api/answers.ts'
import { Button, DataTable, Empty, ProblemNotice, Section } from '../../ui/index.ts'
import { eventColumns } from './columns.tsx'
import type { Chosen } from './filter.ts'
import { RunMatching } from './run-matching.tsx'
import { RunSelected } from './run-selected.tsx'
import { useEventLog } from './use-event-log.ts'

export interface TableParts {
  filter: { query: Record<string, string>; key: string }
  chosen: Chosen
  peek: string | undefined
  onPeek: (id: number | undefined) => void
}

/** Pixels from the top up to which new rows may move the others. */
const nearTop = 40

const none: ReadonlySet<string> = new Set()
const runnable = new Set(['failed', 'retrying'])

/** The log of events. */
export function EventLogTable({ filter, chosen, peek, onPeek }: TableParts) {
  const [selected, setSelected] = useState(none)
  const frame = useRef<HTMLDivElement>(null)
  const isBusy = selected.size > 0 || peek !== undefined
  const mayMove = useCallback(
    () => !isBusy && scrollY < nearTop && !frame.current?.contains(document.activeElement),
    [isBusy],
  )
  const log = useEventLog(filter, mayMove)
  const { rows, loading, error, retry, onMore, loadingMore } = log
  const columns = useMemo(() => eventColumns(onPeek), [onPeek])
  const chosenRows = rows.filter((row) => selected.has(String(row.id)))
  if (error && rows.length === 0) return <ProblemNotice error={error} retry={retry} />
  return (
    <div ref={frame}>
      {error && <ProblemNotice error={error} retry={retry} />}
      <NewEvents count={log.waiting} onShow={() => (scrollTo({ top: 0 }), log.showWaiting())} />
      <RunSelected
        rows={chosenRows.filter((row) => row.direction === 'received' && runnable.has(row.status))}
        total={selected.size}
        onDone={() => setSelected(none)}
      />
      {selected.size === 0 && runnable.has(chosen.status ?? '') && (
        <RunMatching filter={filter.query} chosen={chosen} />
      )}
      <Section flush>
        <DataTable<EventRow>
          label="Events"
          columns={columns}
          rows={rows}
          rowKey={(row) => String(row.id)}
          loading={loading}
          empty={<NoEvents isFiltered={Object.keys(chosen).length > 0} />}
          onMore={onMore}
          loadingMore={loadingMore}
          endless
          selection={{ selected, onChange: setSelected, labelOf: (row) => row.eventId }}
          isCurrent={(row) => String(row.id) === peek}
        />
      </Section>
    </div>
  )
}

/** New rows wait here while they would move what the person reads, has selected or has focused. */
function NewEvents({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <div role="status" className="sticky top-16 z-20 flex h-0 justify-center overflow-visible">
      {count > 0 && (
        <Button kind="primary" className="h-9 shadow-lg" onClick={onShow}>
          {`${count} new event${count === 1 ? '' : 's'}`}
        </Button>
      )}
    </div>
  )
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return <Empty title="No event matches">Choose a longer time range, or remove a filter.</Empty>
  return (
    <Empty
      title="No events in this time range"
      command={`curl -X POST ${addressOf('/events')} \\\n  -H "Authorization: Bearer $POSTERN_KEY" -H "Content-Type: application/json" \\\n  -d '{"type":"hello.world","data":{"from":"curl"}}'`}
    >
      Received webhooks and sent events appear here. Send one:
    </Empty>
  )
}
