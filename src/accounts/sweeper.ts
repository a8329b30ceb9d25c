import type { Clock } from '../runtime/clock.ts'
import { type Worker, periodicWorker } from '../runtime/worker.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds between two rounds. Expired rows are never used, so sweeping only keeps tables small. */
const interval = 10 * 60_000

/** Deletes expired rows periodically. A failed sweep is logged and repeated in the next round. */
export function createSweeper(
  name: string,
  clock: Clock,
  log: Log,
  sweeps: readonly ((now: number) => Promise<void>)[],
): Worker {
  return periodicWorker(name, clock, interval, async () => {
    for (const sweep of sweeps) {
      await sweep(clock.now()).catch((error: unknown) =>
        log.warn({ err: error, worker: name }, 'could not delete expired rows'),
      )
    }
  })
}
