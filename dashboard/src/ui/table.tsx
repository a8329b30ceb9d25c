import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useState, type ReactNode } from 'react'
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
const rowHeight = { wide: 41, narrow: 68 }
/** Pixels below which each row is two lines instead of cells. */
const narrowBelow = 672
/** The least width of a column that declares none in rem, in rem: of a text, and of numbers. */
const leastWidth = { text: 10, numbers: 5 }
/** Below this number all rows are in the page, so that the browser's own search finds them. */
const virtualFrom = 200

/**
 * A table of rows that the service filters and sorts. Rows keep their identity by `rowKey`, so that new data moves no focus. Of a long
 * table only the rows in view are in the page. On a telephone each row is two lines; in a place that has less room than the columns
 * need, the table scrolls sideways.
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
  const [place, setPlace] = useState<HTMLElement | null>(null)
  const { narrow, top } = useRoom(place)
  const virtual = rows.length >= virtualFrom
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (narrow ? rowHeight.narrow : rowHeight.wide),
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
    <div ref={setPlace}>
      <SideScroll label={label}>
        <table
          aria-label={label}
          aria-rowcount={virtual ? rows.length + 1 : undefined}
          style={narrow ? undefined : { minWidth: `${leastWidthOf(props)}rem` }}
          className={`w-full border-collapse ${narrow ? 'table-fixed' : 'table-auto'}`}
        >
          {!narrow && <TableHead {...props} />}
          <tbody>
            {before > 0 && <Gap height={before} span={columns.length + 1} />}
            {shown.map(([row, index]) => (
              <TableRow
                key={rowKey(row)}
                {...props}
                row={row}
                index={index}
                narrow={narrow}
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

/** How much room a table has, and where on the page it begins. Known before the page is painted. */
function useRoom(place: HTMLElement | null): { narrow: boolean; top: number } {
  const [room, setRoom] = useState({ narrow: false, top: 0 })
  useLayoutEffect(() => {
    if (!place) return
    const measure = (): void => {
      const narrow = place.clientWidth < narrowBelow
      const top = Math.round(place.getBoundingClientRect().top + scrollY)
      setRoom((before) => (before.narrow === narrow && before.top === top ? before : { narrow, top }))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(place)
    return () => observer.disconnect()
  }, [place])
  return room
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
  <tr aria-hidden="true" style={{ height }}>
    <td colSpan={span} className="p-0" />
  </tr>
)
