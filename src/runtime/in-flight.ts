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
