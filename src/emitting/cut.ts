/**
 * Says once to all who listen that what they do is to be broken off. As AbortSignal, for many at a time: adding a listener
 * there looks at all that are there already.
 */
export class Cut {
  readonly #listeners = new Set<(reason: Error) => void>()
  #reason: Error | undefined

  /** Why; `undefined` as long as it has not happened. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Throws the reason if that is what something ended with. */
  throwIfIt(error: unknown): void {
    const reason = this.#reason
    if (reason !== undefined && error === reason) throw reason
  }

  add(listener: (reason: Error) => void): void {
    this.#listeners.add(listener)
  }

  delete(listener: (reason: Error) => void): void {
    this.#listeners.delete(listener)
  }

  now(reason: Error): void {
    this.#reason ??= reason
    for (const listener of this.#listeners) listener(this.#reason)
    this.#listeners.clear()
  }
}
