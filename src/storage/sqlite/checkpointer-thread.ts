// The thread that writes the log back into the file. A commit may go on meanwhile: it adds to the end of the log.
import { constants, getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import { mostLogPages, SqliteConnection } from './connection.ts'

/**
 * Pages that are worth it: many, since a page that was written several times is written back once. When the log is about
 * to be full, the more often the better, so that little is left for the commit that empties it: a log is begun anew only
 * when all of it is written back, which somebody who writes can make sure of.
 */
const worth = (log: number): number => (log > mostLogPages * 0.75 ? mostLogPages / 80 : mostLogPages / 4)

yieldToOthers()
const port = parentPort!
const connection = new SqliteConnection((workerData as { file: string }).file)

port.on('message', (message: 'look' | 'close') => {
  if (message === 'close') {
    connection.close()
    port.close()
    return
  }
  port.postMessage(look())
})

/** What a look came to: the message of what went wrong, if anything did. */
export interface Looked {
  failed: string | undefined
}

function look(): Looked {
  try {
    // NOOP tells the pages of the log and those that were written back, and does nothing (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    const state = connection.get<{ log: number; checkpointed: number }>('pragma wal_checkpoint(noop)')!
    if (state.log - state.checkpointed >= worth(state.log)) connection.get('pragma wal_checkpoint(passive)')
    return { failed: undefined }
  } catch (error) {
    // A full disk, or a file that is gone: the log keeps what it has.
    if (!(error instanceof StorageUnavailable)) throw error
    return { failed: error.message }
  }
}

/** Nobody waits for this thread, and all wait for those that it would take a core from. */
function yieldToOthers(): void {
  // Only Linux has a priority for each thread (https://man7.org/linux/man-pages/man2/setpriority.2.html, NOTES): elsewhere it would be the process's.
  if (process.platform !== 'linux') return
  const low = constants.priority.PRIORITY_BELOW_NORMAL
  try {
    if (getPriority() < low) setPriority(low)
  } catch {
    // A sandbox may forbid it; then it is as urgent as the others.
  }
}
