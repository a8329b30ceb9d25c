import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode } from 'react'
import type { Column } from './column.tsx'
import { MoreRows } from './more-rows.tsx'
import { Loading } from './notices.tsx'
import { SideScroll } from './side-scroll.tsx'
import { TableHead } from './table-head.tsx'
import { TableRow } from './table-row.tsx'

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
              <TableRow
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

/** The place of the rows that are not in the page. */
const Gap = ({ height, span }: { height: number; span: number }) => (
  <tr aria-hidden="true" className="@max-2xl:block" style={{ height }}>
    <td colSpan={span} className="p-0" />
  </tr>
)
