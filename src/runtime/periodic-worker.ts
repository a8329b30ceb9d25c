import type { Clock } from './clock.ts'
import type { Worker } from './worker.ts'

/**
 * A worker that does the same again and again.
 * @param interval milliseconds from the end of one round to the beginning of the next, and before the first.
 * @param round never rejects.
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
