/**
 * A collection of items that come and go thousands of times a second. A Set allocates a new table after every few changes, and
 * in V8 its old tables refer to the new ones. Once an old table is in the old generation, each young-generation collection
 * copies everything that the later tables ever held, until a full collection.
 */
export class SlotMap<Item extends object> {
  readonly #items: (Item | undefined)[] = []
  readonly #free: number[] = []

  /** Adds an item. Returns a function that removes it, and returns false if it was removed before. */
  add(item: Item): () => boolean {
    const slot = this.#free.pop() ?? this.#items.length
    this.#items[slot] = item
    let removed = false
    return () => {
      if (removed) return false
      removed = true
      this.#items[slot] = undefined
      this.#free.push(slot)
      return true
    }
  }

  /** A copy of the current items: later changes do not affect it. */
  all(): Item[] {
    return this.#items.filter((item) => item !== undefined)
  }
}

/**
 * Aborts many operations at once, as an AbortSignal does. An AbortSignal looks at all its listeners when one is added, which
 * costs too much for hundreds of attempts in flight.
 */
export class AbortBroadcast {
  readonly #listeners = new SlotMap<(reason: Error) => void>()
  #reason: Error | undefined

  /** Why the operations were aborted; `undefined` before `abort`. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Throws the reason if an operation ended with it as its error. */
  rethrowReason(error: unknown): void {
    const reason = this.#reason
    if (reason !== undefined && error === reason) throw reason
  }

  /** Adds a listener. Returns a function that removes it. @throws the reason, after `abort` */
  onAbort(listener: (reason: Error) => void): () => void {
    if (this.#reason) throw this.#reason
    return this.#listeners.add(listener)
  }

  /** Aborts the current operations, and all later ones. */
  abort(reason: Error): void {
    this.#reason ??= reason
    this.abortCurrent(this.#reason)
  }

  /** Aborts the current operations only. */
  abortCurrent(reason: Error): void {
    for (const listener of this.#listeners.all()) listener(reason)
  }
}

/** Calls `then` when the signal is aborted, at once if it is already. Returns a function that removes the listener. */
export function whenAborted(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) then()
  else signal.addEventListener('abort', then, { once: true })
  return () => signal.removeEventListener('abort', then)
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => whenAborted(signal, resolve))
}
