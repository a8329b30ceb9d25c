// The thread that writes the log back. Commits can continue meanwhile: they append to the log.
import { constants, getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import { fewLogPages, mostLogPages, SqliteConnection } from './connection.ts'
import type { OpenFile } from './files.ts'
import { serveTasks } from './thread-server.ts'

/**
 * The number of new pages from which on it writes them back: many, because a page that changed several times is written once; few
 * when the log is nearly full, so that little is left for the commit that restarts the log.
 */
const leastPages = (log: number): number => (log > mostLogPages * 0.75 ? mostLogPages / 80 : fewLogPages)

lowerPriority()
const connection = new SqliteConnection(workerData as OpenFile)

const tasks = {
  /** Writes the log back into the file, if enough of it is new. */
  writeBack(): void {
    // NOOP only returns the numbers of pages (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    const state = connection.get<{ log: number; checkpointed: number }>('pragma wal_checkpoint(noop)')!
    if (state.log - state.checkpointed >= leastPages(state.log))
      connection.get('pragma wal_checkpoint(passive)')
  },
  close: () => connection.close(),
}

export type CheckpointerTasks = typeof tasks

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
