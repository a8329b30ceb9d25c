// The threads with a connection of their own to the database.
import { constants, getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import {
  fewLogPages,
  finish,
  mostLogPages,
  SqliteConnection,
  type SqlRow,
  type SqlValue,
  tryBegin,
} from './connection.ts'
import type { DatabaseThread } from './thread-client.ts'
import { serveTasks } from './thread-server.ts'

/** A statement, and the parameters of each time that it is run. */
export interface Repeated {
  sql: string
  rows: readonly (readonly SqlValue[])[]
}

interface Read {
  sql: string
  parameters: readonly SqlValue[]
}

/**
 * The number of new pages from which on it writes them back: many, because a page that changed several times is written once; few
 * when the log is nearly full, so that little is left for the commit that restarts the log.
 */
const leastPages = (log: number): number => (log > mostLogPages * 0.75 ? mostLogPages / 80 : fewLogPages)

const { opened, readOnly = false, isBackground } = workerData as DatabaseThread
if (isBackground) lowerPriority()
const connection = new SqliteConnection(opened, { readOnly })

const tasks = {
  read: ({ sql, parameters }: Read): SqlRow[] => connection.all(sql, parameters),
  readWithin: ({ sql, parameters, until }: Read & { until: bigint }): SqlValue[][] =>
    connection.arraysUntil(until, sql, parameters),

  /** Runs statements in one transaction; false if another process holds the file's lock: then nothing was done. */
  write(batch: readonly Repeated[]): boolean {
    if (!tryBegin(connection)) return false
    finish(connection, () => {
      for (const { sql, rows } of batch) for (const row of rows) connection.run(sql, row)
    })
    return true
  },

  /** Writes the log back into the file, if enough of it is new. Commits can continue meanwhile: they append to the log. */
  writeBack(): void {
    // NOOP only returns the numbers of pages (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    const state = connection.get<{ log: number; checkpointed: number }>('pragma wal_checkpoint(noop)')!
    if (state.log - state.checkpointed >= leastPages(state.log))
      connection.get('pragma wal_checkpoint(passive)')
  },

  close: () => connection.close(),
}

export type DatabaseTasks = typeof tasks

serveTasks(tasks)

/** Nothing waits for this thread. */
function lowerPriority(): void {
  // Only Linux has a priority for each thread (https://man7.org/linux/man-pages/man2/setpriority.2.html, NOTES).
  if (process.platform !== 'linux') return
  const low = constants.priority.PRIORITY_BELOW_NORMAL
  try {
    if (getPriority() < low) setPriority(low)
  } catch {
    // A sandbox may forbid it.
  }
}
