import { BoundedCache } from '../../runtime/bounded-cache.ts'

/** New keys in a second that one process admits. */
const newKeysPerSecond = 100
/** Known keys; beyond that, the oldest one is removed. */
const mostKnown = 20_000

/** When a refused key may call again, and when it may make all its calls; in milliseconds since 1970. */
export interface Refusal {
  readonly until: number
  readonly resetAt: number
}

/** The keys whose calls are counted in the database. New ones are admitted slowly, so that a flood of them adds few rows. */
export class KnownKeys {
  /** In the order of insertion; refused ones with their refusals. */
  readonly #known = new BoundedCache<string, Refusal | undefined>(mostKnown)
  #second = 0
  #newKeys = 0

  refusalOf(key: string): Refusal | undefined {
    return this.#known.get(key)
  }

  /** Remembers the refusal of a key that is still known. */
  refuse(key: string, refusal: Refusal): void {
    if (this.#known.has(key)) this.#known.set(key, refusal)
  }

  /** Returns false for a new key if too many came in this second. */
  admit(key: string, now: number): boolean {
    if (this.#known.has(key)) return true
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#newKeys = 0
    }
    if (this.#newKeys >= newKeysPerSecond) return false
    this.#newKeys += 1
    this.#known.set(key, undefined)
    return true
  }
}
