import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import { periodicWorker } from '../../runtime/periodic-worker.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Keeping } from './keeping.ts'

/** Milliseconds between two rounds: until then what changed is added up by those who read. */
const interval = 2_000

/** Folds what changed into the kept counts, round after round. A round that fails is logged, and the next one tries again. */
export function createKeeper(clock: Clock, log: Log, keepings: readonly Keeping[]): Worker {
  return periodicWorker('counts', clock, interval, async () => {
    for (const keeping of keepings) {
      await keeping
        .tidy()
        .catch((error: unknown) =>
          log.debug({ err: error, worker: 'counts' }, 'could not tidy the counts of a list'),
        )
    }
  })
}
