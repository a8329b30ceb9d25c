import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { DataTable, Empty, ProblemNotice, Section, SelectField } from '../../ui/index.ts'
import { cellOf } from './cells.tsx'
import { isNumber } from './field-types.ts'
import { filtersOf, type ListSearch } from './list-search.ts'
import type { ListDescription } from './lists.ts'

const functions = ['sum', 'avg', 'min', 'max'] as const
const mostBars = 50

type Values = Record<string, unknown>
type Group = { by: Values; count?: number } & Partial<Record<(typeof functions)[number], Values>>

/** The groups of a list's rows that the filters leave, as bars. */
export function Summary({ list, search }: { list: ListDescription; search: ListSearch }) {
  const summaries = list.summaries!
  const [by, setBy] = useState(summaries.by[0]!)
  // Only numbers have a bar.
  const numbers = new Set(list.fields.flatMap(({ name, type }) => (isNumber(type) ? [name] : [])))
  const values = functions.flatMap((kind) =>
    summaries[kind].flatMap((name) => (numbers.has(name) ? [`${kind} ${name}`] : [])),
  )
  const [value, setValue] = useState('count')
  const [kind = 'count', name = '1'] = value.split(' ')
  const query = { ...filtersOf(search), by, [kind]: name }
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['list-summary', list.path, query],
    queryFn: ({ signal }) =>
      api.request<{ data: Group[]; hasMore: boolean }>('GET', `${list.path}/summary`, { query, signal }),
    placeholderData: keepPreviousData,
    // Reading a table of the product may take long.
    refetchInterval: false,
  })
  const valueOf = (group: Group): unknown =>
    kind === 'count' ? group.count : group[kind as (typeof functions)[number]]?.[name]
  const sizeOf = (group: Group): number => Number(valueOf(group) ?? 0)
  const groups = (data?.data ?? []).filter((group) => by in group.by)
  // Times keep their order.
  const rows = by.includes(':')
    ? groups.slice(-mostBars)
    : groups.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, mostBars)
  const total = data?.hasMore ? 'the first 1,000 groups; there are more' : `${groups.length} groups`
  const most = Math.max(...rows.map((group) => Math.abs(sizeOf(group))), 0) || 1
  return (
    <Section
      title="Summary"
      description={rows.length < groups.length ? `${rows.length} of ${total}` : undefined}
      actions={
        <>
          <SelectField
            label="Group by"
            options={summaries.by}
            value={by}
            onChange={({ target }) => setBy(target.value)}
          />
          <SelectField
            label="Value"
            options={['count', ...values]}
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        </>
      }
      flush
    >
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <DataTable
        label={`Summary of ${list.path}`}
        columns={[
          {
            key: 'group',
            header: by,
            width: '14rem',
            cell: (group) => cellOf({ type: 'text' }, group.by[by]),
          },
          {
            key: 'bar',
            header: <span className="sr-only">Bar</span>,
            phone: 'secondary',
            cell: (group) => <Bar part={sizeOf(group) / most} />,
          },
          {
            key: 'value',
            header: value,
            width: '9rem',
            align: 'right',
            phone: 'aside',
            cell: (group) => cellOf({ type: 'numeric' }, valueOf(group)),
          },
        ]}
        rows={rows}
        rowKey={(group) => JSON.stringify(group.by)}
        loading={isPending}
        error={error}
        empty={<Empty title="No row matches these filters" />}
      />
    </Section>
  )
}

/** @param part of the longest bar; negative values have another color */
function Bar({ part }: { part: number }) {
  return (
    <div aria-hidden className="h-2.5 w-full min-w-48">
      <div
        className={`h-full rounded-sm ${part < 0 ? 'bg-danger' : 'bg-accent'}`}
        style={{ width: `${Math.abs(part) * 100}%` }}
      />
    </div>
  )
}
