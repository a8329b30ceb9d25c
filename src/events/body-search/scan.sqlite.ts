import type { SqliteDatabase } from '../../storage/database.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import type { ScanTasks } from './scan-sqlite-thread.ts'
import type { BodyScanner } from './scan.ts'

/** Searches in a thread with a connection of its own, which starts with the first search. */
export function sqliteBodies({ file }: SqliteDatabase): BodyScanner {
  const thread = new ThreadClient<ScanTasks>({
    module: new URL('scan-sqlite-thread.ts', import.meta.url),
    name: 'body search',
    workerData: { file },
    isBackground: true,
  })
  return { scan: (step) => thread.call('scan', step), close: () => thread.close() }
}
