import { useMemo } from 'react'
import {
  type Column,
  Button,
  DataTable,
  Empty,
  formatNumber,
  formatTime,
  ProblemNotice,
  Progress,
  Section,
} from '../../ui/index.ts'
import { eventColumns } from './columns.tsx'
import type { TableParts } from './event-log-table.tsx'
import { useBodySearch, type Found } from './use-body-search.ts'

const excerpt: Column<Found> = {
  key: 'excerpt',
  header: 'Found',
  cell: (row) => <span className="font-mono text-sm">{row.excerpt}</span>,
}

/** Events whose bodies contain what the person looks for, as they are found. */
export function SearchResults({ filter, peek, onPeek }: TableParts) {
  const search = useBodySearch(filter)
  const columns = useMemo(() => {
    const [time, type, status, ...rest] = eventColumns(onPeek)
    return [time!, type!, status!, excerpt, rest.at(-1)!]
  }, [onPeek])
  const running = search.state === 'running'
  const reach = search.at === null ? '' : `, back to ${formatTime(search.at)}`
  return (
    <>
      <div className="mb-3 min-h-8">
        {running ? (
          <Progress label={`Events searched${reach}`} value={search.scanned} onStop={search.stop} />
        ) : (
          <p role="status" className="text-soft">
            {formatNumber(search.found.length)} found in {formatNumber(search.scanned)} events{reach}.{' '}
            {ends[search.state] ?? ''}
          </p>
        )}
      </div>
      {search.state === 'failed' && <ProblemNotice error={search.error} />}
      <Section flush>
        <DataTable<Found>
          label="Events found"
          columns={columns}
          rows={search.found}
          rowKey={(row) => String(row.id)}
          loading={running && search.found.length === 0}
          empty={
            <Empty title="No matching events">
              Choose a longer time range, or search for something else.
            </Empty>
          }
          isCurrent={(row) => String(row.id) === peek}
        />
      </Section>
      {search.state === 'limit' && <Button onClick={search.goOn}>Continue search</Button>}
    </>
  )
}

const ends: Readonly<Record<string, string>> = {
  stopped: 'The search was stopped.',
  limit: 'There may be more matches.',
}
