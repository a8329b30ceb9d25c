import type { Log } from '../telemetry/log.ts'
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

/** Milliseconds between two rounds. Expired rows are never used, so sweeping only keeps tables small. */
const sweepInterval = 10 * 60_000

/** Deletes expired rows periodically. A failed sweep is logged and repeated in the next round. */
export function createSweeper(
  name: string,
  clock: Clock,
  log: Log,
  sweeps: readonly ((now: number) => Promise<void>)[],
): Worker {
  return periodicWorker(name, clock, sweepInterval, async () => {
    for (const sweep of sweeps) {
      await sweep(clock.now()).catch((error: unknown) =>
        log.warn({ err: error, worker: name }, 'could not delete expired rows'),
      )
    }
  })
}

/** When a worker last completed a round of its work with the database. */
export class Progress {
  readonly #clock: Clock
  #at: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records that the worker started, or that a round, or one statement of a round, succeeded. */
  made(): void {
    this.#at = this.#clock.now()
  }

  /**
   * Milliseconds since then; 0 for a worker that does not run in this process. After the clock was set, the difference counts until
   * the next round: otherwise a worker that stalls then would not be seen for as long as the clock was set back.
   */
  get age(): number {
    return this.#at === undefined ? 0 : Math.abs(this.#clock.now() - this.#at)
  }
}

/** Counts operations in flight and waits for the last of them to end. */
export class InFlight {
  #count = 0
  #drained: PromiseWithResolvers<void> | undefined

  get count(): number {
    return this.#count
  }

  /** Counts `work` until it settles. Resolves or rejects as `work` does. */
  async add(work: Promise<void>): Promise<void> {
    this.#count += 1
    try {
      await work
    } finally {
      this.#count -= 1
      if (this.#count === 0) this.#drained?.resolve()
    }
  }

  /** Resolves as soon as no operation is in flight. */
  async drained(): Promise<void> {
    if (this.#count === 0) return
    this.#drained ??= Promise.withResolvers()
    await this.#drained.promise
    this.#drained = undefined
  }
}
