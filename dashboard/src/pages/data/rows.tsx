import {
  DataTable,
  Empty,
  formatNumber,
  LinkButton,
  Pager,
  ProblemNotice,
  Section,
  type Column,
} from '../../ui/index.ts'
import { cellOf } from './cells.tsx'
import { isNumber, isTime } from './field-types.ts'
import { filtersOf, type ListSearch } from './list-search.ts'
import {
  directionOf,
  keyOfRow,
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
          {formatNumber(rows.length)} {rows.length === 1 ? 'row' : 'rows'}
          {onMore && ' shown, more available'}
        </p>
      )}
    </>
  )
}

/** The rows of a list with numbered pages. */
export function NumberedTable(props: RowsProps) {
  const { list, search, onChange } = props
  const { data, error, isPending, refetch } = useNumberedRows(list, search)
  return (
    <>
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <Rows {...props} rows={data?.data ?? []} loading={isPending} error={error} />
      {data?.pagination && (
        <Pager pagination={data.pagination} one="row" onGo={(to) => onChange({ ...search, page: to })} />
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
  const keyOf = (row: Row): string => keyOfRow(list, row)
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
          <Empty title={filtered ? 'No row matches these filters' : 'No rows yet'}>
            {!filtered && list.writes && 'Create one with "Add row" or POST.'}
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
function widthOf(field: ListField, isKey: boolean): { width?: string } {
  if (isKey) return { width: '10rem' }
  if (isNumber(field.type) || field.type === 'boolean') return { width: '7rem' }
  if (field.type === 'timeText') return { width: '13rem' }
  return isTime(field.type) ? { width: '11rem' } : {}
}

function columnsOf({ list, search, onChange }: RowsProps): Column<Row>[] {
  const sortBy = (field: string): void => {
    const direction = directionOf(list, search, field)
    const { page: _page, ...rest } = search
    onChange({ ...rest, sort: direction === 'asc' ? `-${field}` : field })
  }
  // The key is first. Its last field, in which its rows differ most, opens the row.
  const place = ({ name }: ListField): number =>
    list.key.includes(name) ? list.key.indexOf(name) : list.key.length
  const fields = list.fields.toSorted((a, b) => place(a) - place(b))
  const columns = fields.map<Column<Row>>((field) => ({
    key: field.name,
    header: field.name,
    ...widthOf(field, list.key.includes(field.name)),
    ...(isNumber(field.type) && { align: 'right' as const }),
    ...(list.sorts.includes(field.name) && {
      sort: { direction: directionOf(list, search, field.name), onSort: () => sortBy(field.name) },
    }),
    cell: (row) =>
      field.name === list.key.at(-1) ? (
        <LinkButton
          className="min-h-6 max-w-full truncate font-mono text-sm"
          title={keyOfRow(list, row)}
          onClick={() => onChange({ ...search, row: keyOfRow(list, row) })}
        >
          {String(row[field.name])}
        </LinkButton>
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
