// The thread that carries out statements which are known beforehand, so that neither they nor the wait for the disk hold
// up the loop. It commits one batch after the other.
import { parentPort, workerData } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import { finish, tryBegin } from './begin.ts'
import { SqliteConnection } from './connection.ts'
import { unpackRows, type PackedRows } from './packed-rows.ts'

/** A statement, and the parameters of each time that it is run. */
export interface PackedStatement {
  sql: string
  rows: PackedRows
}

export interface WriterAnswer {
  /** False when another process holds the file's lock: then nothing was done. */
  written: boolean
  failed?: { unavailable: boolean; message: string; stack?: string | undefined }
}

const port = parentPort!
const connection = new SqliteConnection((workerData as { file: string }).file)

port.on('message', (batch: readonly PackedStatement[] | 'close') => {
  if (batch === 'close') {
    connection.close()
    port.close()
    return
  }
  port.postMessage(write(batch))
})

function write(batch: readonly PackedStatement[]): WriterAnswer {
  try {
    if (!tryBegin(connection)) return { written: false }
    finish(connection, () => {
      for (const { sql, rows } of batch) for (const row of unpackRows(rows)) connection.run(sql, row)
    })
    return { written: true }
  } catch (error) {
    const { message, stack } = error as Error
    const unavailable = error instanceof StorageUnavailable
    const cause = unavailable && error.cause instanceof Error ? error.cause.message : message
    return { written: false, failed: { unavailable, message: cause, stack } }
  }
}
