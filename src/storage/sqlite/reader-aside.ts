import type { Queryable } from '../database.ts'
import { kyselyOver } from '../query-runner.ts'
import { StorageUnavailable } from '../unavailable.ts'
import type { SqlValue } from './connection.ts'
import type { ReaderTasks } from './reader-thread.ts'
import type { OpenFile } from './file-in-place.ts'
import { ThreadClient } from './thread-client.ts'

/** A reader whose statements run in a thread with a connection of its own. It starts with the first statement. */
export function openReaderAside(file: OpenFile): { reader: Queryable; close: () => Promise<void> } {
  const module = new URL('reader-thread.ts', import.meta.url)
  const thread = new ThreadClient<ReaderTasks>({ module, name: 'reader', workerData: file })
  let isClosed = false
  return {
    reader: kyselyOver('sqlite', async ({ sql, parameters }) => {
      // The thread would start again.
      if (isClosed) throw new StorageUnavailable(new Error('the database is closed'))
      return { rows: await thread.call('read', { sql, parameters: parameters as readonly SqlValue[] }) }
    }),
    async close() {
      isClosed = true
      // A thread that died has nothing left to end.
      await thread.close().catch(() => undefined)
    },
  }
}
