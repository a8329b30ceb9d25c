import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { DataTable, Empty, FilterBar, Page, ProblemNotice, Section, type Filter } from '../../ui/index.ts'
import { groupColumns } from './group-columns.tsx'

const route = getRouteApi('/failures')
const filters: readonly Filter[] = [{ name: 'handler', label: 'Handler', placeholder: 'order.*' }]

/** Failures with the same cause, as one row each. */
export function ListPage() {
  const { handler } = route.useSearch()
  const query = handler === undefined ? {} : { handler }
  const groups = usePages({
    key: ['failures', query],
    read: (cursor, signal) => api.get('/failures', { query: { ...query, cursor }, signal }),
    idOf: ({ id }) => id,
    moves: true,
  })
  return (
    <Page title="Failures" description="Failed and retried events, grouped by handler and error.">
      <FilterBar label="Filter failures" filters={filters} />
      {groups.error && <ProblemNotice error={groups.error} retry={groups.retry} />}
      <Section flush>
        <DataTable
          label="Failures"
          columns={groupColumns}
          rows={groups.rows}
          rowKey={({ id }) => id}
          loading={groups.loading}
          error={groups.error}
          onMore={groups.onMore}
          loadingMore={groups.loadingMore}
          empty={
            <Empty title="No failures">
              When a handler throws an error, its failures appear here, one row for each cause.
            </Empty>
          }
        />
      </Section>
    </Page>
  )
}
