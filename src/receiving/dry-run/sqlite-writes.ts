import type { SqliteDatabase } from '../../storage/database.ts'
import type { WriteSession } from '../../storage/sqlite/connection.ts'
import { readChangeset, type ChangedRow } from './changeset.ts'
import { showValue, WriteList, type Row, type WriteRecorder, type WrittenRow } from './writes.ts'

const counters = { insert: 'inserted', update: 'updated', delete: 'deleted' } as const

/** Records by SQLite's session extension, which sees the tables with a primary key. */
export function sqliteRecorder(database: SqliteDatabase): WriteRecorder {
  let session: WriteSession | undefined
  return {
    begin() {
      session = database.watchWrites()
    },
    async read() {
      if (!session) return { tables: [], notes: [] }
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
    close() {
      session?.close()
      session = undefined
    },
  }
}

function writtenRow({ operation, isKey, before, after }: ChangedRow, columns: readonly string[]): WrittenRow {
  const show = (values: ChangedRow['before'], withKey: boolean): Row => {
    const row: Row = {}
    for (const [place, value] of values?.entries() ?? []) {
      const name = columns[place] ?? `column ${place + 1}`
      if (value !== undefined && (withKey || !isKey[place])) row[name] = showValue(name, value)
    }
    return row
  }
  const whole = operation !== 'update'
  const key: Row = {}
  for (const [place, value] of (before ?? after ?? []).entries()) {
    const name = columns[place] ?? `column ${place + 1}`
    if (isKey[place]) key[name] = showValue(name, value)
  }
  return {
    operation,
    key,
    before: before ? show(before, whole) : null,
    after: after ? show(after, whole) : null,
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
