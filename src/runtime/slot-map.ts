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
