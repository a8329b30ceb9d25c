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
