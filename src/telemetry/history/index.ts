import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { Recorder } from './recorder.ts'
import { rollUpWorker } from './roll-up.ts'
import { HistoryStore } from './store.ts'

export interface MetricsHistoryParts {
  database: Database
  metrics: Metrics
  clock: Clock
  log: Log
  /** See RecorderParts. */
  oldestDue?: (() => Promise<number>) | undefined
}

export interface MetricsHistory {
  readonly store: HistoryStore
  readonly recorder: Recorder
  /** Rolls minutes up to hours, and deletes old rows. */
  readonly worker: Worker
}

/** The history of metrics: what happened in each minute of the last two days, and in each hour of the last month. */
export function createMetricsHistory({ database, ...parts }: MetricsHistoryParts): MetricsHistory {
  const store = new HistoryStore(database)
  const recorder = new Recorder({ ...parts, store })
  return { store, recorder, worker: rollUpWorker(store, parts.clock, parts.log) }
}
