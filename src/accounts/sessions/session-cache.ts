/**
 * An LRU cache of sessions by their token. A caller reads `generation` before it queries the database and passes
 * it to `set`: a result that an invalidation has overtaken is not cached.
 */
export class SessionCache<T extends { userId: string }> {
  readonly #capacity: number
  readonly #entries = new Map<string, T>()
  readonly #keysOfUser = new Map<string, Set<string>>()
  #generation = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  /** Grows with each invalidation. */
  get generation(): number {
    return this.#generation
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    // As long as there is plenty of room, the order does not matter.
    if (this.#entries.size < this.#capacity * 0.9) return entry
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Caches an entry, unless anything was invalidated since `generation`. */
  set(key: string, entry: T, generation: number): void {
    if (generation !== this.#generation) return
    this.#remove(key)
    this.#entries.set(key, entry)
    const keys = this.#keysOfUser.get(entry.userId)
    if (keys) keys.add(key)
    else this.#keysOfUser.set(entry.userId, new Set([key]))
    if (this.#entries.size > this.#capacity) {
      const [oldest] = this.#entries.keys()
      this.#remove(oldest!)
    }
  }

  /** Removes a user's sessions; all sessions when `userId` is `undefined`. */
  invalidate(userId: string | undefined): void {
    this.#generation += 1
    if (userId === undefined) {
      this.#entries.clear()
      this.#keysOfUser.clear()
      return
    }
    for (const key of this.#keysOfUser.get(userId) ?? []) this.#entries.delete(key)
    this.#keysOfUser.delete(userId)
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    const keys = this.#keysOfUser.get(entry.userId)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOfUser.delete(entry.userId)
  }
}
