import type { Clock } from './clock.ts'
import type { Worker } from './worker.ts'
import { periodicWorker } from './periodic-worker.ts'
import type { Database } from '../storage/database.ts'
import { analyzeChanged } from '../storage/postgres/statistics.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds between two checks. */
const interval = 2_000

/** Keeps PostgreSQL's statistics of our tables up to date between runs of autovacuum. SQLite does not need them. */
export function statisticsWorkers(database: Database, clock: Clock, log: Log): Worker[] {
  if (database.engine === 'sqlite') return []
  return [
    periodicWorker('statistics', clock, interval, async () => {
      try {
        const tables = await database.maintenance(() => analyzeChanged(database.pool))
        if (tables.length > 0) log.debug({ tables }, 'tables have changed, and were analyzed')
      } catch (error) {
        // Other workers report that the database is unavailable; the next round tries again.
        log.debug({ err: error, worker: 'statistics' }, 'could not check whether tables have changed')
      }
    }),
  ]
}
