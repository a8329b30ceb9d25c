import type { Clock } from './clock.ts'
import type { Worker } from './worker.ts'

/**
 * Creates a worker that repeats `round`.
 * @param interval milliseconds before the first round, and from the end of each round to the next.
 * @param round must not reject.
 */
export function periodicWorker(
  name: string,
  clock: Clock,
  interval: number,
  round: () => Promise<void>,
): Worker {
  let cancel: (() => void) | undefined
  let running: Promise<void> = Promise.resolve()
  const schedule = (): void => {
    cancel = clock.after(interval, () => {
      running = round().then(() => {
        if (cancel) schedule()
      })
    })
  }
  return {
    name,
    start: schedule,
    async stop() {
      cancel?.()
      cancel = undefined
      await running
    },
  }
}
