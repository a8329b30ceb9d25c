import {
  Button,
  DataTable,
  Empty,
  formatNumber,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { cellOf, isNumber, isTime } from './cells.tsx'
import { filtersOf, type ListSearch } from './list-search.ts'
import {
  directionOf,
  useCursorRows,
  useNumberedRows,
  type ListDescription,
  type ListField,
  type Row,
} from './lists.ts'
import { RowDrawer } from './row-drawer.tsx'

export interface RowsProps {
  list: ListDescription
  search: ListSearch
  onChange: (search: ListSearch) => void
}

/** The rows of a list whose pages follow each other: more are read as the person asks for them. */
export function CursorTable(props: RowsProps) {
  const { rows, error, loading, retry, onMore, loadingMore } = useCursorRows(props.list, props.search)
  return (
    <>
      {error && <ProblemNotice error={error} retry={retry} />}
      <Rows
        {...props}
        rows={rows}
        loading={loading}
        error={error}
        onMore={onMore}
        loadingMore={loadingMore}
        endless
      />
      {rows.length > 0 && (
        <p role="status" className="text-sm text-soft">
          {formatNumber(rows.length)} {rows.length === 1 ? 'row' : 'rows'} shown
          {onMore ? '; there are more.' : ', which is all.'}
        </p>
      )}
    </>
  )
}

/** The rows of a list with numbered pages. */
export function NumberedTable(props: RowsProps) {
  const { list, search, onChange } = props
  const { data, error, isPending, refetch } = useNumberedRows(list, search)
  const pagination = data?.pagination
  const page = pagination?.page ?? 1
  const go = (to: number): void => onChange({ ...search, page: to })
  return (
    <>
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <Rows {...props} rows={data?.data ?? []} loading={isPending} error={error} />
      {pagination && (
        <nav aria-label="Pages of rows" className="flex flex-wrap items-center gap-3">
          <Button small disabled={page <= 1} onClick={() => go(page - 1)}>
            Previous
          </Button>
          <span role="status" className="text-sm text-soft tabular-nums">
            Page {formatNumber(page)}
            {pagination.totalPages !== undefined && ` of ${formatNumber(Math.max(pagination.totalPages, 1))}`}
            {pagination.total !== undefined &&
              `, ${pagination.estimated ? 'about ' : ''}${formatNumber(pagination.total)} ${pagination.total === 1 ? 'row' : 'rows'}`}
          </span>
          <Button small disabled={!pagination.hasNext} onClick={() => go(page + 1)}>
            Next
          </Button>
        </nav>
      )}
    </>
  )
}

function Rows({
  list,
  search,
  onChange,
  rows,
  ...more
}: RowsProps & {
  rows: readonly Row[]
  loading: boolean
  error: unknown
  onMore?: () => void
  loadingMore?: boolean
  endless?: boolean
}) {
  const keyOf = (row: Row): string => String(row[list.key])
  const opened = search.row === undefined ? undefined : rows.find((row) => keyOf(row) === String(search.row))
  const filtered = Object.keys(filtersOf(search)).length > 0
  return (
    <Section flush>
      <DataTable
        label={`Rows of ${list.path}`}
        columns={columnsOf({ list, search, onChange })}
        rows={rows}
        rowKey={keyOf}
        isCurrent={(row) => row === opened}
        empty={
          <Empty title={filtered ? 'No row matches the filters' : 'No rows yet'}>
            {!filtered && list.writes && 'Create one with "New row", or with POST.'}
          </Empty>
        }
        {...more}
      />
      {opened && (
        <RowDrawer list={list} row={opened} onClose={() => onChange({ ...search, row: undefined })} />
      )}
    </Section>
  )
}

/** Numbers and times have narrow columns, so that the texts get the rest. */
function widthOf(field: ListField, key: string): { width?: string } {
  if (field.name === key) return { width: '10rem' }
  if (isNumber(field) || field.type === 'boolean') return { width: '7rem' }
  return isTime(field.type) ? { width: '11rem' } : {}
}

function columnsOf({ list, search, onChange }: RowsProps): Column<Row>[] {
  const sortBy = (field: string): void => {
    const direction = directionOf(list, search, field)
    const { page: _page, ...rest } = search
    onChange({ ...rest, sort: direction === 'asc' ? `-${field}` : field })
  }
  // The key is first: it opens the row.
  const fields = list.fields.toSorted((a, b) => Number(b.name === list.key) - Number(a.name === list.key))
  const columns = fields.map<Column<Row>>((field) => ({
    key: field.name,
    header: field.name,
    ...widthOf(field, list.key),
    ...(isNumber(field) && { align: 'right' as const }),
    ...(list.sorts.includes(field.name) && {
      sort: { direction: directionOf(list, search, field.name), onSort: () => sortBy(field.name) },
    }),
    cell: (row) =>
      field.name === list.key ? (
        <button
          type="button"
          className="min-h-6 max-w-full truncate font-mono text-sm text-accent underline underline-offset-2"
          title={String(row[list.key])}
          onClick={() => onChange({ ...search, row: String(row[list.key]) })}
        >
          {String(row[list.key])}
        </button>
      ) : (
        cellOf(field, row[field.name])
      ),
  }))
  const expanded = search.expand?.split(',') ?? []
  const more = list.expansions
    .filter(({ name }) => expanded.includes(name))
    .map<Column<Row>>(({ name }) => ({
      key: name,
      header: name,
      cell: (row) => cellOf({ type: 'json' }, row[name]),
    }))
  return [...columns, ...more]
}
