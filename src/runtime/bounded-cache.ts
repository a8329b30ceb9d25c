/** A map of at most `limit` entries. A new entry beyond that evicts the oldest one. */
export class BoundedCache<K, V> extends Map<K, V> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  /** Returns the value of a key. For a key without a value, it stores what `make` returns. */
  obtain(key: K, make: () => V): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const made = make()
    this.set(key, made)
    return made
  }

  override set(key: K, value: V): this {
    super.set(key, value)
    if (this.size > this.#limit) this.delete(this.keys().next().value!)
    return this
  }
}

/** Returns the run of a key that is under way, or starts one: simultaneous calls share a run. */
export function shareRun<K, T>(running: Map<K, Promise<T>>, key: K, start: () => Promise<T>): Promise<T> {
  const known = running.get(key)
  if (known) return known
  const run = start().finally(() => running.delete(key))
  running.set(key, run)
  return run
}

/** Returns a function that calls `make` once for each object. */
export function oncePer<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = make(key)))
    return value
  }
}
