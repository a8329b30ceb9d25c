import type { Clock } from './clock.ts'
import type { Worker } from './worker.ts'

/** Its rounds end by themselves, so that a stop needs no deadline. */
export interface PeriodicWorker extends Worker {
  stop(): Promise<void>
}

/**
 * Creates a worker that repeats `round`.
 * @param interval milliseconds from the end of each round to the next
 * @param round must not reject
 * @param first milliseconds before the first round
 */
export function periodicWorker(
  name: string,
  clock: Clock,
  interval: number,
  round: () => Promise<void>,
  first = interval,
): PeriodicWorker {
  let cancel: (() => void) | undefined
  let running: Promise<void> = Promise.resolve()
  const schedule = (delay: number): void => {
    cancel = clock.after(delay, () => {
      running = round().then(() => {
        if (cancel) schedule(interval)
      })
    })
  }
  return {
    name,
    start: () => schedule(first),
    async stop() {
      cancel?.()
      cancel = undefined
      await running
    },
  }
}
