import type { Clock } from './clock.ts'
import { RepeatedPass } from './repeated-pass.ts'

/** Repeats a pass of work when it is woken, now or later. One pass runs at a time; a wake-up during a pass repeats it. */
export class WakeUps {
  readonly #clock: Clock
  readonly #passes: RepeatedPass
  #cancelTimer: (() => void) | undefined
  #timerAt = Infinity
  #state: 'new' | 'started' | 'stopped' = 'new'

  /** @param pass must not reject */
  constructor(clock: Clock, pass: () => Promise<void>) {
    this.#clock = clock
    this.#passes = new RepeatedPass(pass)
  }

  /** Begins the first pass. Until then, wake-ups have no effect. */
  start(): void {
    this.#state = 'started'
    this.now()
  }

  get stopped(): boolean {
    return this.#state === 'stopped'
  }

  now(): void {
    if (this.#state === 'started') this.#passes.request()
  }

  /** Wakes in `ms` milliseconds, unless an earlier wake-up is set. */
  in(ms: number): void {
    const at = this.#clock.now() + ms
    if (this.#state !== 'started' || at >= this.#timerAt) return
    this.#cancelTimer?.()
    this.#timerAt = at
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#timerAt = Infinity
      this.now()
    })
  }

  /** No pass begins after this call. Resolves at the end of the current one. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#passes.stop()
    this.#cancelTimer?.()
    await this.#passes.ended()
  }
}
