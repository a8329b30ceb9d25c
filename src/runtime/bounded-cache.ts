/** A map of at most `limit` entries. A new entry beyond that evicts the oldest one. */
export class BoundedCache<K, V> extends Map<K, V> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: K, value: V): this {
    super.set(key, value)
    if (this.size > this.#limit) this.delete(this.keys().next().value!)
    return this
  }
}
