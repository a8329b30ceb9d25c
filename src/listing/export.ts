import { csvLine } from './csv-line.ts'
import type { Presentation } from './expansion.ts'
import { keyOf } from './pages/page.ts'
import type { Pages } from './pages/pages.ts'
import type { Query } from './query.ts'
import type { Revision } from './revision.ts'

/** Rows in one statement. On SQLite, other requests wait until it ends. */
const batchSize = 500

export const exportFormats = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
} as const
export type ExportFormat = keyof typeof exportFormats

export interface ExportParts {
  pages: Pages
  presentation: Presentation
  revision?: Revision | undefined
}

/**
 * Yields all rows of a query as text, batch by batch. Each batch is read after the client has received the one before, by a seek after
 * its last row, so that a slow client holds neither a transaction nor a database cursor open. Rows that change meanwhile may be
 * exported in their old or their new state.
 * @param signal aborted when the client disconnects.
 */
export async function* exportRows(
  query: Query,
  format: ExportFormat,
  { pages, presentation, revision }: ExportParts,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const columns = [...query.shown, ...query.expand.map(({ name }) => name)]
  if (format === 'csv') yield csvLine(columns)
  if (query.empty) return
  for (let key: Parameters<Pages['rowsAfter']>[1]; ;) {
    const rows = await pages.rowsAfter(query, key, batchSize, signal)
    const present = await presentation.of(query, rows)
    const revise = await revision?.()
    if (rows.length > 0)
      yield rows
        .map((row) => {
          const item = revise ? revise(present(row)) : present(row)
          return format === 'csv' ? csvLine(columns.map((name) => item[name])) : `${JSON.stringify(item)}\n`
        })
        .join('')
    if (rows.length < batchSize) return
    key = keyOf(query, query.order, rows.at(-1)!)
  }
}
