import { csvLine } from './csv.ts'
import type { Presentation } from './expansion.ts'
import { keyOf } from './pages/page.ts'
import type { Pages } from './pages/pages.ts'
import type { Query } from './query.ts'

/** Rows that are read at once: few enough to hold nobody up on SQLite. */
const batch = 500

export const exportFormats = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
} as const
export type ExportFormat = keyof typeof exportFormats

/**
 * All rows that a query lets pass, as text in pieces. The next rows are read when the piece before was taken, each time by
 * a seek behind the last one: no transaction and no cursor of the database stays open, however slow the reader is. Rows that
 * are changed meanwhile may be in it as they were or as they are.
 * @param signal aborted when the reader is gone.
 */
export async function* exportRows(
  query: Query,
  format: ExportFormat,
  pages: Pages,
  presentation: Presentation,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const columns = [...query.shown, ...query.expand.map(({ name }) => name)]
  if (format === 'csv') yield csvLine(columns)
  if (query.empty) return
  for (let key: Parameters<Pages['rowsAfter']>[1]; ;) {
    const rows = await pages.rowsAfter(query, key, batch, signal)
    const present = await presentation.of(query, rows)
    if (rows.length > 0)
      yield rows
        .map((row) => {
          const item = present(row)
          return format === 'csv' ? csvLine(columns.map((name) => item[name])) : `${JSON.stringify(item)}\n`
        })
        .join('')
    if (rows.length < batch) return
    key = keyOf(query, query.order, rows.at(-1)!)
  }
}
