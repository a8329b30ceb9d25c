import type { Clock } from '../../runtime/clock.ts'

/** Milliseconds between two polls of the dispatcher: scans that no notification asked for. */
export const pollInterval = 1_000

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
