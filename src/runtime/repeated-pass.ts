import type { Clock } from './clock.ts'

/** Runs a pass of work on request. One pass runs at a time; requests during a pass repeat it once. */
export class RepeatedPass {
  readonly #pass: () => Promise<void>
  readonly #repeat: (again: () => void) => void
  #current: Promise<void> | undefined
  #requested = false
  /** Whether a repetition is delayed: it serves the requests until then. */
  #isDelayed = false
  #stopped = false

  /**
   * @param pass must not reject
   * @param repeat calls its argument now or later; it can delay a pass that was requested during another one
   */
  constructor(pass: () => Promise<void>, repeat: (again: () => void) => void = (again) => again()) {
    this.#pass = pass
    this.#repeat = repeat
  }

  request(): void {
    if (this.#stopped || this.#isDelayed) return
    if (this.#current) {
      this.#requested = true
      return
    }
    this.#requested = false
    this.#current = this.#pass().finally(() => {
      this.#current = undefined
      if (this.#requested) this.#repeatPass()
    })
  }

  /** No pass begins after this call. */
  stop(): void {
    this.#stopped = true
  }

  /** Resolves at the end of the current pass. */
  async ended(): Promise<void> {
    await this.#current
  }

  #repeatPass(): void {
    this.#isDelayed = true
    this.#repeat(() => {
      this.#isDelayed = false
      this.request()
    })
  }
}

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
