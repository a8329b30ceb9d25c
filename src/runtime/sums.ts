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
