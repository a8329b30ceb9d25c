import { type Static, Type } from 'typebox'
import { nullable } from '../../http/schemas/schemas.ts'
import { isCredentialName } from '../rejections/log.ts'
import type { SqlValue } from '../../storage/sqlite/connection.ts'

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

type Operation = WrittenRow['operation']

/** A row of a changeset; the values are in the order of the table's columns. `undefined` in an update: not changed. */
export interface ChangedRow {
  readonly table: string
  readonly operation: Operation
  /** Whether each column belongs to the primary key. */
  readonly isKey: readonly boolean[]
  /** For an update: the key and the changed columns. */
  readonly before: readonly (SqlValue | undefined)[] | undefined
  /** For an update: the changed columns. */
  readonly after: readonly (SqlValue | undefined)[] | undefined
}

const operations: Readonly<Record<number, Operation>> = { 9: 'delete', 18: 'insert', 23: 'update' }

/**
 * Reads a changeset of SQLite's session extension.
 * https://www.sqlite.org/session/intro.html#changesets_and_patchsets
 * https://github.com/sqlite/sqlite/blob/master/ext/session/sqlite3session.c (the format is at its top)
 * @throws RangeError if the bytes end early; Error if they are no changeset
 */
export function* readChangeset(bytes: Uint8Array): Generator<ChangedRow> {
  const reader = new Reader(bytes)
  let table = ''
  let isKey: boolean[] = []
  while (!reader.atEnd) {
    const mark = reader.byte()
    if (mark === 0x54) {
      isKey = reader.bytes(reader.varint()).map((flag) => flag !== 0)
      table = reader.textToNul()
      continue
    }
    const operation = operations[mark]
    if (!operation) throw new Error(`${mark} begins no row of a changeset`)
    // Whether a trigger or a cascade caused the change.
    reader.byte()
    const before = operation === 'insert' ? undefined : isKey.map(() => reader.value())
    const after = operation === 'delete' ? undefined : isKey.map(() => reader.value())
    yield { table, operation, isKey, before, after }
  }
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  bytes(length: number): number[] {
    return [...this.#take(length)]
  }

  /** https://www.sqlite.org/fileformat2.html#varint; lengths and counts need fewer than 8 bytes */
  varint(): number {
    let value = 0
    for (let read = 0; read < 8; read += 1) {
      const byte = this.byte()
      value = value * 128 + (byte & 0x7f)
      if (byte < 0x80) return value
    }
    throw new Error('a number in the changeset is too long')
  }

  textToNul(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  value(): SqlValue | undefined {
    const type = this.byte()
    if (type === 0) return undefined
    if (type === 5) return null
    if (type === 1) return numberOf(this.#take(8).readBigInt64BE())
    if (type === 2) return this.#take(8).readDoubleBE()
    const content = this.#take(this.varint())
    return type === 3 ? content.toString('utf8') : content
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the changeset ends early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

function numberOf(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
