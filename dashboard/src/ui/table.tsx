import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { Loading } from './notices.tsx'
import { SideScroll } from './side-scroll.tsx'

export interface Column<Row> {
  /** Unique in the table. */
  key: string
  header: ReactNode
  cell: (row: Row) => ReactNode
  /** Numbers stand at the right. */
  align?: 'right'
  /** A CSS width such as `8rem`; without it the column shares what is left. */
  width?: string
  /** In a narrow place a row is a stack of cells: leaves this one out. */
  hideOnPhone?: boolean
  /** Shown as a button in the header that asks for another order. */
  sort?: { direction: 'asc' | 'desc' | undefined; onSort: () => void }
}

/** The last column: a button for each row. */
export function actionColumn<Row>({
  action,
  nameOf,
  isOffered = () => true,
  onAction,
}: {
  /** The text of the buttons, of one or two words. */
  action: string
  /** For screen readers, which get the name with the text of the button. */
  nameOf: (row: Row) => string
  isOffered?: (row: Row) => boolean
  onAction: (row: Row) => void
}): Column<Row> {
  return {
    key: 'action',
    header: <span className="sr-only">Action</span>,
    width: '8rem',
    align: 'right',
    cell: (row) =>
      isOffered(row) && (
        <Button small kind="danger" aria-label={`${action} ${nameOf(row)}`} onClick={() => onAction(row)}>
          {action}
        </Button>
      ),
  }
}

export interface DataTableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Shown instead of a table without rows. */
  empty: ReactNode
  /** Whether the first rows are being read. */
  loading?: boolean
  /** Why the rows could not be read. The page shows it, and the table does not claim to be empty. */
  error?: unknown
  /** Reads further rows; shown as a button, and called as the end comes into view when `endless`. */
  onMore?: (() => void) | undefined
  loadingMore?: boolean
  endless?: boolean
  selection?: {
    selected: ReadonlySet<string>
    onChange: (selected: ReadonlySet<string>) => void
    labelOf: (row: Row) => string
  }
  /** Marks a row, for instance the one that the drawer shows. */
  isCurrent?: (row: Row) => boolean
}

/** Of a row with one line: an estimate that is wrong has each new row measured and all rendered again while one scrolls. */
const rowHeight = 41
/** The least width of a column that declares none in rem, in rem: of a text, and of numbers. */
const leastWidth = { text: 10, numbers: 5 }
/** Below this number all rows are in the page, so that the browser's own search finds them. */
const virtualFrom = 200

/**
 * A table of rows that the service filters and sorts. Rows keep their identity by `rowKey`, so that new data moves no focus. Of a long
 * table only the rows in view are in the page. In a place of less than 42rem each row is a stack of cells; in one that has less
 * room than the columns need, the table scrolls sideways.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const {
    label,
    columns,
    rows,
    rowKey,
    empty,
    loading = false,
    error,
    onMore,
    loadingMore = false,
    selection,
  } = props
  const table = useRef<HTMLTableElement>(null)
  const [top, setTop] = useState(0)
  const isEmpty = rows.length === 0
  useLayoutEffect(() => {
    if (table.current) setTop(table.current.getBoundingClientRect().top + scrollY)
  }, [isEmpty])
  const virtual = rows.length >= virtualFrom
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 6,
    scrollMargin: top,
    enabled: virtual,
    getItemKey: (index) => rowKey(rows[index]!),
  })
  if (loading && rows.length === 0) return <Loading />
  if (rows.length === 0) return error ? null : empty
  const items = virtual ? virtualizer.getVirtualItems() : undefined
  const before = items?.[0] ? items[0].start - top : 0
  const after = items?.length ? virtualizer.getTotalSize() - (items.at(-1)!.end - top) : 0
  const shown = items
    ? items.map(({ index }) => [rows[index]!, index] as const)
    : rows.map((row, index) => [row, index] as const)
  return (
    <div className="@container">
      <SideScroll label={label}>
        <table
          ref={table}
          aria-label={label}
          aria-rowcount={virtual ? rows.length + 1 : undefined}
          style={{ '--least-width': `${leastWidthOf(props)}rem` } as CSSProperties}
          className="w-full table-auto border-collapse @max-2xl:block @2xl:min-w-(--least-width)"
        >
          <TableHead {...props} />
          <tbody className="@max-2xl:block">
            {before > 0 && <Gap height={before} span={columns.length + 1} />}
            {shown.map(([row, index]) => (
              <MemoizedRow
                key={rowKey(row)}
                {...props}
                row={row}
                index={index}
                measure={virtual ? virtualizer.measureElement : undefined}
              />
            ))}
            {after > 0 && <Gap height={after} span={columns.length + 1} />}
          </tbody>
        </table>
      </SideScroll>
      {selection && selection.selected.size > 0 && (
        <p role="status" className="sr-only">
          {selection.selected.size} selected
        </p>
      )}
      {onMore && <MoreRows onMore={onMore} loading={loadingMore} endless={props.endless === true} />}
    </div>
  )
}

/** In rem; what the columns need so that no text is cut off after a few letters. */
function leastWidthOf<Row>({ columns, selection }: DataTableProps<Row>): number {
  const widths = columns.map(({ width, align }) =>
    !width?.endsWith('rem') ? leastWidth[align === 'right' ? 'numbers' : 'text'] : Number.parseFloat(width),
  )
  return widths.reduce((sum, width) => sum + width, selection ? 2.5 : 0)
}

/** Pixels below the window at which an endless table reads on. */
const readAhead = 800

/** The end of the rows that were read: a button, which an endless table presses itself as it comes near. */
function MoreRows({ onMore, loading, endless }: { onMore: () => void; loading: boolean; endless: boolean }) {
  const end = useRef<HTMLDivElement>(null)
  const latest = useRef(onMore)
  useEffect(() => {
    latest.current = onMore
  })
  useEffect(() => {
    if (!endless || loading || !end.current) return
    const observer = new IntersectionObserver(
      // Several changes may come at once: the last one holds.
      (entries) => entries.at(-1)?.isIntersecting && latest.current(),
      { rootMargin: `${readAhead}px` },
    )
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [endless, loading])
  return (
    <div ref={end} className="border-t border-line p-3 text-center">
      <Button small busy={loading} onClick={onMore}>
        Show more
      </Button>
    </div>
  )
}

const Gap = ({ height, span }: { height: number; span: number }) => (
  <tr aria-hidden="true" className="@max-2xl:block" style={{ height }}>
    <td colSpan={span} className="p-0" />
  </tr>
)

function TableHead<Row>({ columns, rows, rowKey, selection }: DataTableProps<Row>) {
  const all = selection !== undefined && rows.every((row) => selection.selected.has(rowKey(row)))
  return (
    <thead className="border-b border-line text-left text-sm text-soft @max-2xl:sr-only">
      <tr>
        {selection && (
          <th scope="col" className="w-10 py-2 pl-4">
            <input
              type="checkbox"
              aria-label="Select all rows shown"
              className="size-4 align-middle"
              checked={all}
              onChange={() => selection.onChange(all ? new Set() : new Set(rows.map(rowKey)))}
            />
          </th>
        )}
        {columns.map(({ key, header, align, width, sort }) => (
          <th
            key={key}
            scope="col"
            aria-sort={
              sort?.direction === undefined
                ? undefined
                : sort.direction === 'asc'
                  ? 'ascending'
                  : 'descending'
            }
            style={width === undefined ? undefined : { width }}
            className={classes('px-4 py-2 font-medium', align === 'right' && 'text-right')}
          >
            {sort ? (
              <button type="button" onClick={sort.onSort} className="min-h-6 font-medium hover:text-ink">
                {header}{' '}
                <span aria-hidden>
                  {sort.direction === 'asc' ? '↑' : sort.direction === 'desc' ? '↓' : '↕'}
                </span>
              </button>
            ) : (
              header
            )}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function TableRow<Row>({
  columns,
  row,
  index,
  rowKey,
  selection,
  isCurrent,
  measure,
}: DataTableProps<Row> & {
  row: Row
  index: number
  measure: ((element: Element | null) => void) | undefined
}) {
  const key = rowKey(row)
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={measure ? index + 2 : undefined}
      aria-current={isCurrent?.(row) ? 'true' : undefined}
      className="border-b border-line last:border-b-0 hover:bg-sunken aria-[current]:bg-accent-tint @max-2xl:block @max-2xl:px-4 @max-2xl:py-2.5"
    >
      {selection && (
        <td className="py-2 pl-4 @max-2xl:float-right @max-2xl:p-0">
          <input
            type="checkbox"
            aria-label={`Select ${selection.labelOf(row)}`}
            className="size-4 align-middle"
            checked={selection.selected.has(key)}
            onChange={() => {
              const next = new Set(selection.selected)
              if (!next.delete(key)) next.add(key)
              selection.onChange(next)
            }}
          />
        </td>
      )}
      {columns.map(({ key, header, cell, align, hideOnPhone = false }) => (
        <td
          key={key}
          className={classes(
            'max-w-0 truncate px-4 py-2 align-middle @max-2xl:flex @max-2xl:max-w-none @max-2xl:gap-2 @max-2xl:px-0 @max-2xl:py-0.5 @max-2xl:whitespace-normal',
            align === 'right' && 'text-right tabular-nums @max-2xl:text-left',
            hideOnPhone && '@max-2xl:hidden',
          )}
        >
          {header && (
            <span aria-hidden className="w-28 shrink-0 text-sm text-soft @2xl:hidden">
              {header}
            </span>
          )}
          <div className="min-w-0 @max-2xl:max-h-48 @max-2xl:overflow-hidden @max-2xl:break-words @2xl:truncate">
            {cell(row)}
          </div>
        </td>
      ))}
    </tr>
  )
}

/** While the table scrolls, only the rows that come into view are rendered. */
const MemoizedRow = memo(TableRow) as typeof TableRow
