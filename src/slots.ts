/**
 * Things that come and go thousands of times a second. A Set moves to a new table after every few of them, and in V8 its
 * old tables refer to the new ones: once one of them is old, all that was ever in the later ones is copied by each
 * collection of what is young, until the whole heap is collected.
 */
export class Slots<Item extends object> {
  readonly #items: (Item | undefined)[] = []
  readonly #free: number[] = []

  /** Puts one in. Returns the function that takes it out again; to be called once or more. */
  add(item: Item): () => void {
    const slot = this.#free.pop() ?? this.#items.length
    this.#items[slot] = item
    let out = false
    return () => {
      if (out) return
      out = true
      this.#items[slot] = undefined
      this.#free.push(slot)
    }
  }

  /** Those that are there now: what comes and goes meanwhile makes no difference. */
  all(): Item[] {
    return this.#items.filter((item) => item !== undefined)
  }
}
