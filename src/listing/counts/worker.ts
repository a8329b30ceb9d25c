import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import { periodicWorker } from '../../runtime/periodic-worker.ts'
import type { Log } from '../../telemetry/log.ts'
import type { CountsWriter } from './writer.ts'

/** Milliseconds between two rounds. Until then, readers add up the recorded changes. */
const interval = 2_000

/** Folds recorded changes into the counts. A round that fails is logged and repeated after the interval. */
export function createCountsWorker(clock: Clock, log: Log, writers: readonly CountsWriter[]): Worker {
  return periodicWorker('counts', clock, interval, async () => {
    for (const writer of writers) {
      await writer
        .foldChanges()
        .catch((error: unknown) =>
          log.debug({ err: error, worker: 'counts' }, 'could not fold the changes of a list into its counts'),
        )
    }
  })
}
