/** Time and timers, injected so that a test or a simulation controls them. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
  /** Calls `callback` once, `ms` milliseconds from now (at least 0). Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void
}

/** The clock and the event loop of a process, which determine the order of its work. */
export interface Scheduler extends Clock {
  /** Monotonic milliseconds since an arbitrary moment, for measuring durations. */
  elapsed(): number
  /** Calls `callback` once, in the next turn of the event loop, after the data that arrived by then. */
  soon(callback: () => void): void
}

/** Returns a number in [0, 1), as Math.random. Only for spreading load (jitter), never for secrets. */
export type Random = () => number

export const systemClock: Scheduler = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  soon: (callback) => void setImmediate(callback),
  after(ms, callback) {
    // setTimeout fires at once for delays over 2^31 - 1 ms (24.8 days): wait in steps.
    const longest = 2_147_483_647
    if (ms <= longest) {
      const timer = setTimeout(callback, Math.max(0, ms))
      return () => clearTimeout(timer)
    }
    let timer: NodeJS.Timeout
    const arm = (rest: number): void => {
      timer = setTimeout(() => (rest > longest ? arm(rest - longest) : callback()), Math.min(rest, longest))
    }
    arm(ms)
    return () => clearTimeout(timer)
  },
}

/** The wall clock and the steady clock. */
export type TwoClocks = Pick<Scheduler, 'now' | 'elapsed'>

/** A point in time by both clocks, for measuring elapsed time. */
export type Moment = Readonly<Record<keyof TwoClocks, number>>

/** Now, by both clocks. */
export function thisMoment(clocks: TwoClocks = systemClock): Moment {
  return { now: clocks.now(), elapsed: clocks.elapsed() }
}

/**
 * Milliseconds since a moment, by the clock that shows more. The steady clock never jumps, but stops while the machine is
 * suspended; the wall clock does not. So a time limit may end early, but never late.
 */
export function millisecondsSince({ now, elapsed }: Moment, clocks: TwoClocks = systemClock): number {
  return Math.max(clocks.now() - now, clocks.elapsed() - elapsed)
}

/** Resolves after `ms` milliseconds of `clock`, or rejects with the signal's reason when it is aborted first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** A period of time in one process. It is over if the clock is set back: otherwise it would last for as long as that. */
export class Period {
  #from = Infinity
  #until = -Infinity

  /** @param lasts milliseconds; may be Infinity */
  start(now: number, lasts: number): void {
    this.#from = now
    this.#until = now + lasts
  }

  end(): void {
    this.#until = -Infinity
  }

  has(now: number): boolean {
    return now >= this.#from && now < this.#until
  }
}

/** Timers that end together. None is set before `start`, nor after `stop`. */
export class Timers {
  readonly #clock: Clock
  readonly #pending = new Set<() => void>()
  #running = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(): void {
    this.#running = true
  }

  stop(): void {
    this.#running = false
    for (const cancel of this.#pending) cancel()
  }

  after(delay: number, then: () => void): void {
    if (!this.#running) return
    const cancel = this.#clock.after(delay, () => {
      this.#pending.delete(cancel)
      if (this.#running) then()
    })
    this.#pending.add(cancel)
  }
}
