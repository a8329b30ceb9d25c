/** Creates its AbortSignal on demand: most handlers do not use one, and it costs as much as the rest of an attempt. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listener: (() => void) | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /**
   * Sets the function that is called on abort, before the listeners of the signal. A method, because with a property that runs set to
   * closures V8 copied four times as much in its young-generation collections (`bench process`, Node 26).
   */
  onAbort(listener: () => void): void {
    this.#listener = listener
  }

  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#listener?.()
    this.#controller?.abort(reason)
  }

  throwIfAborted(): void {
    if (this.#reason) throw this.#reason
  }
}
