/** Counts what is under way, and tells when nothing is any more. */
export class UnderWay {
  #count = 0
  #none: PromiseWithResolvers<void> | undefined

  get count(): number {
    return this.#count
  }

  /** Counts a promise from now until it has ended, and ends as it does. */
  async add(work: Promise<void>): Promise<void> {
    this.#count += 1
    try {
      await work
    } finally {
      this.#count -= 1
      if (this.#count === 0) this.#none?.resolve()
    }
  }

  /** Resolves as soon as nothing is under way. */
  async none(): Promise<void> {
    if (this.#count === 0) return
    this.#none ??= Promise.withResolvers()
    await this.#none.promise
    this.#none = undefined
  }
}
