// Tasks of the writer's thread: statements that are known beforehand.
import { finish, tryBegin } from './begin.ts'
import { SqliteConnection, type SqlValue } from './connection.ts'
import { unpackRows, type PackedRows } from './packed-rows.ts'

/** A statement, and the parameters of each time that it is run. */
export interface Repeated<Rows = readonly (readonly SqlValue[])[]> {
  sql: string
  rows: Rows
}

export function open({ file }: { file: string }) {
  const connection = new SqliteConnection(file)
  return {
    /** Runs statements in one transaction; false if another process holds the file's lock: then nothing was done. */
    write(batch: readonly Repeated<PackedRows>[]): boolean {
      if (!tryBegin(connection)) return false
      finish(connection, () => {
        for (const { sql, rows } of batch) for (const row of unpackRows(rows)) connection.run(sql, row)
      })
      return true
    },
    close: () => connection.close(),
  }
}

export type StatementTasks = ReturnType<typeof open>
