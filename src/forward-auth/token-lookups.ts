import { Problem } from '../errors.ts'
import { RateLimiter } from '../http/limits/rate-limiter.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'
import type { Clock } from '../runtime/clock.ts'

/** Different unknown tokens that one client network may send in a minute. Each is looked up once. */
const mostUnknown = 600
/** Milliseconds that a refused token is not looked up again. It never becomes valid, unless an operator restores a database. */
const remembered = 60_000
/** Milliseconds that a network beyond the limit waits. */
const waiting = 10_000
const capacity = 10_000

/**
 * Limits lookups of tokens that do not exist, for each client network. Requests without a token, with a valid one, or again with the same
 * invalid one are not counted, so a page with any number of assets never reaches the limit.
 */
export class TokenLookups {
  readonly #clock: Clock
  readonly #limiter: RateLimiter | undefined
  /** By token: when it was found, or not found. */
  readonly #found = new BoundedCache<string, number>(capacity)
  readonly #missing = new BoundedCache<string, number>(capacity)
  /** By network: since when it waits. */
  readonly #waiting = new BoundedCache<string, number>(1_000)
  #anyWaits = false

  /** @param isLimited the setting RATE_LIMIT */
  constructor(clock: Clock, isLimited: boolean) {
    this.#clock = clock
    this.#limiter = isLimited ? new RateLimiter(clock) : undefined
  }

  /**
   * The result of `find`; `undefined` if it recently found nothing, or threw a Problem.
   * @throws Problem `not-signed-in` for a network that has sent too many unknown tokens. Tokens that were valid before are always accepted.
   */
  async lookUp<T>(
    token: string,
    network: () => string,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (this.#isWithin(this.#missing.get(token), remembered)) return undefined
    const mayWait = this.#anyWaits && this.#found.get(token) === undefined
    if (mayWait && this.#isWithin(this.#waiting.get(network()), waiting)) throw tooManyUnknown()
    try {
      const found = await find()
      if (found === undefined) this.#noteMissing(token, network())
      else if (this.#limiter) this.#found.set(token, this.#clock.now())
      return found
    } catch (error) {
      if (error instanceof Problem) this.#noteMissing(token, network())
      throw error
    }
  }

  #noteMissing(token: string, network: string): void {
    const now = this.#clock.now()
    this.#missing.set(token, now)
    if (!this.#limiter || this.#limiter.take(network, mostUnknown).allowed) return
    this.#waiting.set(network, now)
    this.#anyWaits = true
  }

  #isWithin(since: number | undefined, duration: number): boolean {
    if (since === undefined) return false
    const passed = this.#clock.now() - since
    return passed >= 0 && passed < duration
  }
}

/** 401 and not 429, of which nginx makes a 500. There is no redirect, because the next answer would be the same. */
function tooManyUnknown(): Problem {
  return new Problem('not-signed-in', {
    detail: 'The address has sent too many invalid cookies or credentials.',
    advice: 'Wait for the time in Retry-After.',
    retryAfter: waiting / 1000,
  })
}
