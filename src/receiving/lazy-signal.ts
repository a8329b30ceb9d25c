/** A signal that is made when somebody asks for it: most handlers never do, and it costs as much as their whole attempt. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  /** Called at the abort, before whoever listens. */
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
