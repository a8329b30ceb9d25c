import { memo, type ReactNode } from 'react'
import { classes } from './classes.ts'
import type { Column } from './column.tsx'
import { phonePlaces } from './phone-places.ts'
import type { DataTableProps } from './table.tsx'

function PlainRow<Row>(
  props: DataTableProps<Row> & {
    row: Row
    index: number
    /** Whether the table stands where there is no room for columns. */
    narrow: boolean
    measure: ((element: Element | null) => void) | undefined
  },
) {
  const { columns, row, index, narrow, isCurrent, measure } = props
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={measure ? index + 2 : undefined}
      aria-current={isCurrent?.(row) ? 'true' : undefined}
      className="border-b border-line last:border-b-0 hover:bg-sunken aria-[current]:bg-accent-tint"
    >
      {narrow ? (
        <td className="px-4 py-2.5">
          <TwoLines columns={columns} row={row} box={<SelectBox {...props} />} />
        </td>
      ) : (
        <>
          {props.selection && (
            <td className="py-2 pl-4">
              <SelectBox {...props} />
            </td>
          )}
          {columns.map(({ key, cell, align }) => (
            <td
              key={key}
              className={classes(
                'max-w-0 truncate px-4 py-2 align-middle',
                align === 'right' && 'text-right tabular-nums',
              )}
            >
              {cell(row)}
            </td>
          ))}
        </>
      )}
    </tr>
  )
}

/** A row. While the table scrolls, only the rows that come into view are rendered. */
export const TableRow = memo(PlainRow) as typeof PlainRow

function SelectBox<Row>({ row, rowKey, selection }: DataTableProps<Row> & { row: Row }) {
  if (!selection) return null
  const key = rowKey(row)
  return (
    <input
      type="checkbox"
      aria-label={`Select ${selection.labelOf(row)}`}
      className="size-4 shrink-0 align-middle"
      checked={selection.selected.has(key)}
      onChange={() => {
        const next = new Set(selection.selected)
        if (!next.delete(key)) next.add(key)
        selection.onChange(next)
      }}
    />
  )
}

/** A row on a telephone. */
function TwoLines<Row>({ columns, row, box }: { columns: readonly Column<Row>[]; row: Row; box: ReactNode }) {
  const places = phonePlaces(columns)
  const at = (place: string): Column<Row>[] => columns.filter((_, index) => places[index] === place)
  return (
    <>
      <div className="flex items-center gap-3">
        {box}
        {at('primary').map(({ key, cell }) => (
          <div key={key} className="min-w-0 flex-1 truncate font-medium">
            {cell(row)}
          </div>
        ))}
        {at('aside').map(({ key, cell }) => (
          <div key={key} className="max-w-1/2 shrink-0 truncate">
            {cell(row)}
          </div>
        ))}
      </div>
      <div className="mt-0.5 flex gap-2 overflow-hidden text-sm whitespace-nowrap text-soft empty:hidden">
        {at('secondary').map(({ key, header, cell, align }) => (
          <div
            key={key}
            className="min-w-0 truncate not-first:before:mr-2 not-first:before:content-['·'] empty:hidden has-[time]:shrink-0"
          >
            {align === 'right' && <span>{header} </span>}
            {cell(row)}
          </div>
        ))}
      </div>
    </>
  )
}
