/** A cache of at most `size` entries. A new entry beyond that evicts the oldest one. */
export class BoundedCache<K, V> {
  readonly #size: number
  readonly #entries = new Map<K, V>()

  constructor(size: number) {
    this.#size = size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value)
    if (this.#entries.size > this.#size) this.#entries.delete(this.#entries.keys().next().value!)
  }
}
