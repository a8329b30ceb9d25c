import type { Clock } from './clock.ts'

interface DelayedWritesParts {
  /** Writes all that was collected. Must not reject. */
  write: () => Promise<void>
  /** Whether there is something to write. */
  pending: () => boolean
}

/** Writes what a caller collects in memory, a moment later. One write runs at a time. */
export class DelayedWrites {
  readonly #clock: Clock
  readonly #delay: number
  readonly #parts: DelayedWritesParts
  #cancel: (() => void) | undefined
  #writing: Promise<void> | undefined
  #closed = false

  /** @param delay milliseconds from the first call of `schedule` to the write */
  constructor(clock: Clock, delay: number, parts: DelayedWritesParts) {
    this.#clock = clock
    this.#delay = delay
    this.#parts = parts
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Writes in a moment, also what is collected until then. */
  schedule(): void {
    if (this.#cancel || this.#writing || this.#closed) return
    const { write, pending } = this.#parts
    this.#cancel = this.#clock.after(this.#delay, () => {
      this.#cancel = undefined
      this.#writing = write().finally(() => {
        this.#writing = undefined
        if (pending()) this.schedule()
      })
    })
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#writing
    const { write, pending } = this.#parts
    if (pending()) await write()
  }
}
