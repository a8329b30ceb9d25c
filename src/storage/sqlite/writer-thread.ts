// The thread that runs statements which are known beforehand.
import { workerData } from 'node:worker_threads'
import { finish, tryBegin, SqliteConnection, type SqlValue } from './connection.ts'
import type { OpenFile } from './files.ts'
import { serveTasks } from './thread-server.ts'

/** A statement, and the parameters of each time that it is run. */
export interface Repeated {
  sql: string
  rows: readonly (readonly SqlValue[])[]
}

const connection = new SqliteConnection(workerData as OpenFile)

const tasks = {
  /** Runs statements in one transaction; false if another process holds the file's lock: then nothing was done. */
  write(batch: readonly Repeated[]): boolean {
    if (!tryBegin(connection)) return false
    finish(connection, () => {
      for (const { sql, rows } of batch) for (const row of rows) connection.run(sql, row)
    })
    return true
  },
  close: () => connection.close(),
}

export type WriterTasks = typeof tasks

serveTasks(tasks)
