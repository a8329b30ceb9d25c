import { type Static, Type } from 'typebox'
import { nullable } from '../../http/schemas/schemas.ts'
import { isCredentialName } from '../rejections/log.ts'

/** Rows of a table, tables, and characters of a value that are shown. */
export const mostShown = { rows: 50, tables: 30, value: 2_000 }

const RowView = Type.Record(Type.String(), Type.Unknown())

/** What was written to a table. */
export const WrittenTable = Type.Object({
  table: Type.String(),
  inserted: Type.Integer(),
  updated: Type.Integer(),
  deleted: Type.Integer(),
  rows: Type.Array(
    Type.Object({
      operation: Type.Enum(['insert', 'update', 'delete']),
      key: RowView,
      before: nullable(RowView, 'Of an update: the changed columns'),
      after: nullable(RowView),
    }),
    {
      description: `The first ${mostShown.rows}; long values are cut, and those of columns with names of credentials are redacted`,
    },
  ),
  note: nullable(Type.String(), 'Why rows are missing'),
})

export type WrittenTable = Static<typeof WrittenTable>
/** Its key is empty if the table has no primary key. */
export type WrittenRow = WrittenTable['rows'][number]
export type Row = Static<typeof RowView>

/** What a dry run wrote, before it was rolled back. */
export interface Writes {
  readonly tables: WrittenTable[]
  /** What could not be seen. */
  readonly notes: string[]
}

/** Created within the transaction, before its first statement. */
export interface WriteRecorder {
  /** Called within the transaction, after its last statement. */
  read(): Promise<Writes>
  close(): void
}

/** Characters of all values. */
const mostText = 256 * 1024

/** A value as JSON can show it, cut if it is long. */
export function showValue(column: string, value: unknown): unknown {
  if (value !== null && value !== undefined && isCredentialName(column)) return '[redacted]'
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) {
    const hex = Buffer.from(value.buffer, value.byteOffset, Math.min(value.byteLength, 64)).toString('hex')
    return `x'${hex}${value.byteLength > 64 ? '…' : ''}' (${value.byteLength} bytes)`
  }
  const text = typeof value === 'string' ? value : undefined
  if (text !== undefined && text.length > mostShown.value) return `${text.slice(0, mostShown.value)}…`
  if (typeof value === 'object' && value !== null && JSON.stringify(value).length > mostShown.value)
    return `${JSON.stringify(value).slice(0, mostShown.value)}…`
  return value ?? null
}

/** Collects rows within the bounds. */
export class WriteList {
  readonly #tables = new Map<string, WrittenTable>()
  #text = 0

  table(name: string): WrittenTable {
    let found = this.#tables.get(name)
    if (!found)
      this.#tables.set(
        name,
        (found = { table: name, inserted: 0, updated: 0, deleted: 0, rows: [], note: null }),
      )
    return found
  }

  /** Adds a row if there is room for it. The caller counts it. */
  add(name: string, row: WrittenRow): void {
    const table = this.table(name)
    const size = JSON.stringify(row).length
    if (table.rows.length >= mostShown.rows || this.#text + size > mostText)
      table.note ??= 'Only the first rows are shown.'
    else {
      this.#text += size
      table.rows.push(row)
    }
  }

  result(notes: string[]): Writes {
    const tables = [...this.#tables.values()]
    if (tables.length > mostShown.tables) notes.push(`Only the first ${mostShown.tables} tables are shown.`)
    return { tables: tables.slice(0, mostShown.tables), notes }
  }
}

export function changedColumns(before: Row, after: Row): { before: Row; after: Row } {
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const of = (row: Row): Row => Object.fromEntries(names.map((name) => [name, row[name]]))
  return { before: of(before), after: of(after) }
}
