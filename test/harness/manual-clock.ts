import { systemClock, type Clock, type Scheduler } from '../../src/runtime/clock.ts'

/** A clock that a test moves. */
export class ManualClock implements Clock {
  time = 600_000
  readonly #timers = new Set<{ at: number; callback: () => void }>()

  now(): number {
    return this.time
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.time + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Moves the time on, and runs the timers that are due by then. */
  pass(ms: number): void {
    this.time += ms
    for (const timer of this.#timers) {
      if (timer.at > this.time) continue
      this.#timers.delete(timer)
      timer.callback()
    }
  }
}

/** The system's clock, with other delays for timers of some lengths: `{ 5_000: 200 }`. A test need not wait for rounds and time-outs. */
export const clockWith = (timers: Readonly<Record<number, number>>): Scheduler => ({
  ...systemClock,
  after: (ms, callback) => systemClock.after(timers[ms] ?? ms, callback),
})
