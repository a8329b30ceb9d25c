/** What was made lately, by what it was made from; beyond `most` the oldest is forgotten, and made anew when it is asked for. */
export class Recent<K, V> {
  readonly #most: number
  readonly #kept = new Map<K, V>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    return this.#kept.get(key)
  }

  set(key: K, value: V): void {
    this.#kept.set(key, value)
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value!)
  }
}
