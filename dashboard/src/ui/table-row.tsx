import { memo } from 'react'
import { classes } from './classes.ts'
import type { DataTableProps } from './table.tsx'

function PlainRow<Row>({
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

/** A row. While the table scrolls, only the rows that come into view are rendered. */
export const TableRow = memo(PlainRow) as typeof PlainRow
