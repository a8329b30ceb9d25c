import { isDeepStrictEqual } from 'node:util'
import type { KeyValue } from '../paging/cursor.ts'
import { csvLine } from './csv.ts'
import type { Presentation } from './expansion.ts'
import type { ListDeclaration } from './list.ts'
import { keyOf } from './pages/page.ts'
import type { Pages } from './pages/pages.ts'
import type { Query } from './query.ts'
import type { Item, Revision } from './items.ts'
import { weightsOf } from '../http/requests/accept.ts'

/** Rows in one statement. On SQLite, other requests wait until it ends. */
const batchSize = 500

export const exportFormats = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
} as const
export type ExportFormat = keyof typeof exportFormats

/**
 * Yields all rows of a query as text, batch by batch. Each batch is read after the client has received the one before, by a seek after
 * its last row, so that a slow client holds neither a transaction nor a database cursor open. Rows that change meanwhile may be
 * exported in their old or their new state.
 * @param signal aborted when the client disconnects.
 */
export async function* exportRows(
  query: Query,
  format: ExportFormat,
  { pages, presentation, revision }: { pages: Pages; presentation: Presentation; revision?: Revision },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const lineOf = lineWriter(query, format)
  if (format === 'csv') yield csvHead(query)
  if (query.empty) return
  const checkAdvance = advanceCheck(query.list)
  for (let key: Parameters<Pages['rowsAfter']>[1]; ;) {
    const rows = await pages.rowsAfter(query, key, batchSize, signal)
    const present = await presentation.of(query, rows, revision)
    if (rows.length > 0) yield rows.map((row) => lineOf(present(row))).join('')
    if (rows.length < batchSize) return
    key = keyOf(query, query.order, rows.at(-1)!)
    checkAdvance(key)
  }
}

/** The items of one page as text. */
export function formatPage(query: Query, format: ExportFormat, items: readonly Item[]): string {
  return (format === 'csv' ? csvHead(query) : '') + items.map(lineWriter(query, format)).join('')
}

/** Returns the function that writes an item as a line. */
function lineWriter(query: Query, format: ExportFormat): (item: Item) => string {
  if (format === 'ndjson') return (item) => `${JSON.stringify(item)}\n`
  const { fields } = query.list
  const columns = columnsOf(query).map((name) => ({ name, isJson: fields[name]?.type === 'json' }))
  const nulls = query.parameters['null']
  return (item) =>
    csvLine(
      columns.map(({ name, isJson }) => (isJson ? jsonCell(item[name]) : item[name])),
      nulls,
    )
}

/** A JSON string whose text is itself JSON stays quoted. Otherwise an import would read `"1"` as a number. */
function jsonCell(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    JSON.parse(value)
    return JSON.stringify(value)
  } catch {
    return value
  }
}

/** The format that an Accept header prefers to JSON (RFC 9110, section 12.5.1); `undefined` for JSON. */
export function acceptedFormat(accept: string | undefined): ExportFormat | undefined {
  if (accept === undefined || !/csv|ndjson/i.test(accept)) return undefined
  const weights = weightsOf(accept)
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  const [csv = 0, ndjson = 0] = [weights.get('text/csv'), weights.get('application/x-ndjson')]
  if (csv > json && !(ndjson > csv)) return 'csv'
  return ndjson > json ? 'ndjson' : undefined
}

function columnsOf({ shown, expand }: Query): string[] {
  return [...shown, ...expand.map(({ name }) => name)]
}

function csvHead(query: Query): string {
  return `${query.parameters['bom'] === '1' ? '\ufeff' : ''}${csvLine(columnsOf(query))}`
}

/**
 * Returns the function that throws when the keys of batches come around again, as where the database compares by another rule than
 * it sorts by. Without it, the export would never end. It remembers one key, that of the last batch whose number is a power of two
 * (Brent's algorithm).
 */
function advanceCheck({ path }: ListDeclaration): (key: readonly KeyValue[]) => void {
  let remembered: readonly KeyValue[] | undefined
  let batches = 0
  return (key) => {
    if (remembered && isDeepStrictEqual(key, remembered))
      throw new Error(
        `the export of ${path} was stopped: its rows came around again, because the database compares a field of the order by another rule than it sorts by. Order by another field.`,
      )
    batches += 1
    if (Number.isInteger(Math.log2(batches))) remembered = key
  }
}
