/** What is kept must tell whose it is. */
export interface Kept {
  userId: string
}

/**
 * Sessions that were read lately, by the hash of their token, at most `capacity` of them: the least lately used goes
 * first. Whoever reads to fill it takes the `generation` before: what was forgotten meanwhile is not put back.
 */
export class SessionCache<T extends Kept> {
  readonly #capacity: number
  readonly #entries = new Map<string, T>()
  readonly #ofUser = new Map<string, Set<string>>()
  #generation = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  /** Grows with everything that is forgotten. */
  get generation(): number {
    return this.#generation
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Keeps what was read since `generation`, unless anything was forgotten since then. */
  set(key: string, entry: T, generation: number): void {
    if (generation !== this.#generation) return
    this.#drop(key)
    this.#entries.set(key, entry)
    const keys = this.#ofUser.get(entry.userId)
    if (keys) keys.add(key)
    else this.#ofUser.set(entry.userId, new Set([key]))
    if (this.#entries.size > this.#capacity) {
      const [oldest] = this.#entries.keys()
      this.#drop(oldest!)
    }
  }

  /** Forgets a user's sessions; all sessions without one. */
  forget(userId: string | undefined): void {
    this.#generation += 1
    if (userId === undefined) {
      this.#entries.clear()
      this.#ofUser.clear()
      return
    }
    for (const key of this.#ofUser.get(userId) ?? []) this.#entries.delete(key)
    this.#ofUser.delete(userId)
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    const keys = this.#ofUser.get(entry.userId)
    keys?.delete(key)
    if (keys?.size === 0) this.#ofUser.delete(entry.userId)
  }
}
