import type { Clock } from '../../runtime/clock.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

/** The period of a limit, in milliseconds. */
const window = 60_000

export interface Taken {
  allowed: boolean
  /** Calls that are still allowed. */
  remaining: number
  /** Seconds until a refused call is allowed; 0 if it was allowed. */
  retryAfter: number
  /** Seconds until all calls are allowed again, if none is made before. */
  resetAfter: number
}

/**
 * Counts calls per key over a sliding minute: the calls of this minute, and a share of the previous minute's calls. A caller therefore
 * cannot make twice the calls around the end of a minute, and a key costs one number. Refused calls do not count. The counts are those
 * of this process; beyond `capacity` keys, the oldest one is removed.
 */
export class RateLimiter {
  readonly #clock: Clock
  readonly #capacity: number
  #minute = 0
  #current: Map<string, number>
  #previous: Map<string, number>

  constructor(clock: Clock, capacity = 100_000) {
    this.#clock = clock
    this.#capacity = capacity
    this.#current = this.#emptyMinute()
    this.#previous = this.#emptyMinute()
  }

  get size(): number {
    return this.#current.size + this.#previous.size
  }

  take(key: string, max: number): Taken {
    const now = this.#clock.now()
    this.#turn(Math.floor(now / window))
    const passed = (now % window) / window
    const before = this.#previous.get(key) ?? 0
    const count = this.#current.get(key) ?? 0
    if (before * (1 - passed) + count + 1 > max)
      return takenOf({ allowed: false, before, calls: count, passed }, max)
    this.#current.set(key, count + 1)
    return takenOf({ allowed: true, before, calls: count + 1, passed }, max)
  }

  #emptyMinute(): Map<string, number> {
    return new BoundedCache(this.#capacity)
  }

  #turn(minute: number): void {
    if (minute === this.#minute) return
    this.#previous = minute === this.#minute + 1 ? this.#current : this.#emptyMinute()
    this.#current = this.#emptyMinute()
    this.#minute = minute
  }
}

/**
 * What is left of `max` calls in a minute.
 * @param counted `calls` of this minute, one that was just allowed included; those of the minute `before`; how much of this minute has
 * `passed`, 0 to 1
 */
export function takenOf(
  counted: { allowed: boolean; before: number; calls: number; passed: number },
  max: number,
): Taken {
  const { allowed, before, calls, passed } = counted
  // The calls of this minute count until the end of the next one.
  const resetAfter = (((calls > 0 ? 2 : 1) - passed) * window) / 1000
  if (!allowed)
    return { allowed, remaining: 0, retryAfter: secondsUntilNext(before, calls, passed, max), resetAfter }
  return { allowed, remaining: Math.floor(max - before * (1 - passed) - calls), retryAfter: 0, resetAfter }
}

/**
 * Seconds until `before * (1 - p) + count + 1 <= max`, where `p` is the passed part of this minute. If this minute's calls alone
 * use the limit, that is in the next minute, where they are the calls before: `count * (1 - p) + 1 <= max`.
 */
function secondsUntilNext(before: number, count: number, passed: number, max: number): number {
  const share =
    count + 1 <= max
      ? 1 - (max - 1 - count) / before - passed
      : 1 - passed + Math.max(0, 1 - (max - 1) / count)
  return Math.max(0, (share * window) / 1000)
}
