import type { Clock } from './clock.ts'
import type { Worker } from './worker.ts'
import { periodicWorker } from './periodic-worker.ts'
import type { Database } from '../storage/database.ts'
import { analyzeChanged } from '../storage/postgres/statistics.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds between two looks. */
const interval = 2_000

/** Keeps what PostgreSQL knows of our tables from falling far behind them; SQLite plans without. */
export function statisticsWorkers(database: Database, clock: Clock, log: Log): Worker[] {
  if (database.engine === 'sqlite') return []
  return [
    periodicWorker('statistics', clock, interval, async () => {
      try {
        const tables = await database.maintenance(() => analyzeChanged(database.pool))
        if (tables.length > 0) log.debug({ tables }, 'tables have changed, and were analyzed')
      } catch (error) {
        // Whoever needs the database says that it is away; the next look tries again.
        log.debug({ err: error, worker: 'statistics' }, 'could not look how tables have changed')
      }
    }),
  ]
}
