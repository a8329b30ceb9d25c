import type { DryRun } from '../../api/answers.ts'

type Table = DryRun['tables'][number]
type Row = Table['rows'][number]

const words = { insert: 'inserted', update: 'updated', delete: 'deleted' } as const

/** The rows that a dry run wrote, with the values before and after. */
export function WrittenTables({ tables }: { tables: readonly Table[] }) {
  if (tables.length === 0) return <p>No rows written.</p>
  return tables.map(({ table, inserted, updated, deleted, rows, note }) => (
    <div key={table}>
      <h3 className="mb-1 font-medium">
        <code className="font-mono text-sm">{table}</code>: {inserted} inserted, {updated} updated, {deleted}{' '}
        deleted
      </h3>
      <div
        className="overflow-x-auto rounded-md border border-line"
        tabIndex={0}
        role="group"
        aria-label={`Rows of ${table}`}
      >
        <table className="w-full text-left text-sm">
          <thead className="border-b border-line text-soft">
            <tr>
              <th scope="col" className="px-3 py-1.5 font-medium">
                Row
              </th>
              <th scope="col" className="px-3 py-1.5 font-medium">
                Column
              </th>
              <th scope="col" className="px-3 py-1.5 font-medium">
                Before
              </th>
              <th scope="col" className="px-3 py-1.5 font-medium">
                After
              </th>
            </tr>
          </thead>
          <tbody>
            {Array.from(rows.entries(), ([place, row]) => (
              <Changes key={place} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {note !== null && <p className="mt-1 text-sm text-soft">{note}</p>}
    </div>
  ))
}

function Changes({ row: { operation, key, before, after } }: { row: Row }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const shown = names.length === 0 ? [''] : names
  return shown.map((name, place) => (
    <tr key={name} className={place === 0 ? 'border-t border-line' : ''}>
      {place === 0 && (
        <th scope="rowgroup" rowSpan={shown.length} className="px-3 py-1 align-top font-normal">
          {words[operation]}
          <code className="block font-mono text-xs break-all text-soft">
            {Object.entries(key)
              .map(([column, value]) => `${column} ${show(value)}`)
              .join(', ')}
          </code>
        </th>
      )}
      <td className="px-3 py-1 align-top font-mono">{name}</td>
      <td className="px-3 py-1 align-top font-mono break-all">
        {before && name in before && (
          <del className="bg-danger-tint text-danger no-underline">− {show(before[name])}</del>
        )}
      </td>
      <td className="px-3 py-1 align-top font-mono break-all">
        {after && name in after && (
          <ins className="bg-ok-tint text-ok no-underline">+ {show(after[name])}</ins>
        )}
      </td>
    </tr>
  ))
}

const show = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
