/** Creates its AbortSignal on demand: most handlers do not use one, and it costs as much as the rest of an attempt. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  /** Called on abort, before the listeners of the signal. */
  onAbort: (() => void) | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.onAbort?.()
    this.#controller?.abort(reason)
  }

  throwIfAborted(): void {
    if (this.#reason) throw this.#reason
  }
}
