import type { Clock } from './clock.ts'

/** Work that runs in the background, beside requests. */
export interface Worker {
  readonly name: string
  start(): void
  /** Takes no new work, finishes current work until `deadline` is aborted, and returns the rest to the queue. */
  stop(deadline: AbortSignal): Promise<void>
  /** When the oldest due work became due, in milliseconds since 1970; `undefined` if no work is due. */
  oldestDue?(): Promise<number | undefined>
  /** Milliseconds since it last completed a round of its work with the database; 0 when it does not run in this process. */
  sinceRound?(): number
}

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
