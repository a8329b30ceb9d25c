import type { SqliteDatabase } from '../../storage/database.ts'
import type { SqlValue } from '../../storage/sqlite/connection.ts'
import { type Row, showValue, WriteList, type WriteRecorder, type WrittenRow } from './writes.ts'

const counters = { insert: 'inserted', update: 'updated', delete: 'deleted' } as const

/** Records by SQLite's session extension, which sees the tables with a primary key. */
export function sqliteRecorder(database: SqliteDatabase): WriteRecorder {
  const session = database.watchWrites()
  return {
    async read() {
      const list = new WriteList()
      const columns = new Map<string, readonly string[]>()
      const columnsOf = (table: string): readonly string[] => {
        let known = columns.get(table)
        if (!known) columns.set(table, (known = readColumns(database, table)))
        return known
      }
      for (const row of readChangeset(session.changeset())) {
        list.table(row.table)[counters[row.operation]] += 1
        list.add(row.table, writtenRow(row, columnsOf(row.table)))
      }
      const unseen = tablesWithoutKey(database)
      return list.result(
        unseen.length === 0
          ? []
          : [`Writes to tables without a primary key are not seen: ${unseen.join(', ')}.`],
      )
    },
    close: () => session.close(),
  }
}

function writtenRow({ operation, isKey, before, after }: ChangedRow, columns: readonly string[]): WrittenRow {
  const show = (values: ChangedRow['before'], isShown: (place: number) => boolean | undefined): Row => {
    const row: Row = {}
    for (const [place, value] of values?.entries() ?? []) {
      const name = columns[place] ?? `column ${place + 1}`
      if (value !== undefined && isShown(place)) row[name] = showValue(name, value)
    }
    return row
  }
  const isChange = (place: number): boolean => operation !== 'update' || !isKey[place]
  return {
    operation,
    key: show(before ?? after, (place) => isKey[place]),
    before: before ? show(before, isChange) : null,
    after: after ? show(after, isChange) : null,
  }
}

function readColumns({ readConnection }: SqliteDatabase, table: string): string[] {
  return readConnection
    .all<{ name: string }>('select name from pragma_table_info(?)', [table])
    .map(({ name }) => name)
}

function tablesWithoutKey({ readConnection }: SqliteDatabase): string[] {
  return readConnection
    .all<{ name: string }>(
      `select name from sqlite_schema s where type = 'table' and name not like 'sqlite%'
        and not exists (select 1 from pragma_table_info(s.name) where pk > 0) order by name limit 20`,
    )
    .map(({ name }) => name)
}

type Operation = WrittenRow['operation']

/** A row of a changeset; the values are in the order of the table's columns. `undefined` in an update: not changed. */
interface ChangedRow {
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
