import { isCredentialName } from '../rejections/log.ts'
import type { Operation } from './changeset.ts'

export type Row = Record<string, unknown>

export interface WrittenRow {
  readonly operation: Operation
  /** The primary key; empty if the table has none. */
  readonly key: Row
  /** Of an update: the changed columns only. */
  readonly before: Row | null
  readonly after: Row | null
}

export interface WrittenTable {
  readonly table: string
  inserted: number
  updated: number
  deleted: number
  /** The first rows. */
  readonly rows: WrittenRow[]
  /** Why rows are missing, if some are. */
  note: string | null
}

/** What a dry run wrote, before it was rolled back. */
export interface Writes {
  readonly tables: WrittenTable[]
  /** What could not be seen. */
  readonly notes: string[]
}

export interface WriteRecorder {
  /** Called within the transaction, before its first statement. */
  begin(): void | Promise<void>
  /** Called within the transaction, after its last statement. */
  read(): Promise<Writes>
  /** Safe to call at any time, also again. */
  close(): void
}

/** Rows of a table, tables, and characters of a value that are shown. */
export const mostShown = { rows: 50, tables: 30, value: 2_000 }
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
