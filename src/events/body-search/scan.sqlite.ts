import type { SqliteDatabase } from '../../storage/database.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import type { ScanTasks } from './scan-sqlite-thread.ts'
import type { BodyScanner } from './scan.ts'

/** Searches in a thread with a connection of its own, which starts with the first search. */
export function sqliteBodies({ opened }: SqliteDatabase): BodyScanner {
  const thread = new ThreadClient<ScanTasks>({
    module: new URL('scan-sqlite-thread.ts', import.meta.url),
    name: 'body search',
    workerData: opened,
    isBackground: true,
  })
  return { scan: (step) => thread.call('scan', step), close: () => thread.close() }
}
