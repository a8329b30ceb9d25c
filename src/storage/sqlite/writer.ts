import type { SqlValue } from './connection.ts'
import { buffersOf, packRows } from './packed-rows.ts'
import type { PackedStatement, StatementTasks } from './statement-tasks.ts'
import { TaskThread } from './task-thread.ts'

/** A statement, and the parameters of each time that it is run. */
export interface Repeated {
  sql: string
  rows: readonly (readonly SqlValue[])[]
}

/** Writes to a file in a thread of its own. */
export class SqliteWriter {
  readonly #thread: TaskThread<StatementTasks>

  constructor(file: string) {
    const module = new URL('statement-tasks.ts', import.meta.url)
    this.#thread = new TaskThread({ module, name: 'writer', data: { file } })
  }

  /**
   * Runs the statements in one transaction; false if another process holds the file's lock. The caller has the right to write
   * meanwhile.
   * @throws StorageUnavailable, also when the thread dies: then it is unknown what it did
   */
  write(batch: readonly Repeated[]): Promise<boolean> {
    const packed = batch.map(({ sql, rows }): PackedStatement => ({ sql, rows: packRows(rows) }))
    return this.#thread.call(
      'write',
      packed,
      packed.flatMap(({ rows }) => buffersOf(rows)),
    )
  }

  /** Ends the thread after the batches that it was given. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
