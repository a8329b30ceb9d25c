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

/** Counts that are collected in memory until they are written, and merged again if the write fails. */
export class Sums<Row extends object> {
  readonly #keyOf: (row: Row) => string
  readonly #merge: (known: Row, more: Row) => void
  #rows = new Map<string, Row>()

  /** @param merge adds a row to the one with the same key */
  constructor(keyOf: (row: Row) => string, merge: (known: Row, more: Row) => void) {
    this.#keyOf = keyOf
    this.#merge = merge
  }

  get size(): number {
    return this.#rows.size
  }

  get rows(): Row[] {
    return [...this.#rows.values()]
  }

  add(more: Row): void {
    const key = this.#keyOf(more)
    const known = this.#rows.get(key)
    if (known) this.#merge(known, more)
    else this.#rows.set(key, { ...more })
  }

  /** Returns and removes all rows. Their order is the same in all processes, which lock rows in it. */
  drain(): Row[] {
    const drained = [...this.#rows].toSorted(([one], [other]) => (one < other ? -1 : 1))
    this.#rows = new Map()
    return drained.map(([, row]) => row)
  }
}
