import { classes } from './classes.ts'
import type { DataTableProps } from './table.tsx'

/** The headers of the columns: a click sorts by one, and the box selects all rows shown. */
export function TableHead<Row>({ columns, rows, rowKey, selection }: DataTableProps<Row>) {
  const all = selection !== undefined && rows.every((row) => selection.selected.has(rowKey(row)))
  return (
    <thead className="border-b border-line text-left text-sm text-soft">
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
