import { hashToken } from '../../crypto/secrets.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SharedLimit } from '../../runtime/shared-limit.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'

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
function takenOf(
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

export interface CallsToCount {
  readonly key: string
  readonly wanted: number
  /** Calls that are allowed in a minute. */
  readonly max: number
}

/** Calls of one key in the current and the previous minute, in all processes. */
export interface Counted {
  /** Allowed calls of the wanted ones. */
  readonly granted: number
  /** Includes the granted calls. */
  readonly calls: number
  readonly before: number
  /** The part of the current minute that has passed, 0 to 1. */
  readonly passed: number
}

/** Counts calls of each key; the results have the same order. @throws StorageUnavailable */
export type CountCalls = (calls: readonly CallsToCount[], now: number) => Promise<readonly Counted[]>

/** Keys that one statement counts. */
const mostAtOnce = 100
/** Milliseconds that a refusal counts at most: the rest of this minute, and the next one. After the clock is set back, it would count for longer. */
const longestRefusal = 120_000

/**
 * Counts calls of all processes in the database, for calls that the process's own count allows. A refused key is remembered until
 * it may call again; until then the database is not asked.
 *
 * If the database does not answer, or too many keys are new, the result is `undefined`, and only the process's own count applies. A
 * flood from many addresses therefore adds at most a hundred rows per second and process.
 */
export class SharedRateLimiter {
  readonly #clock: Clock
  readonly #known = new KnownKeys()
  readonly #shared: SharedLimit<{ key: string; max: number }, Taken>

  constructor({
    count,
    clock,
    onError,
  }: {
    count: CountCalls
    clock: Clock
    onError: (error: unknown) => void
  }) {
    this.#clock = clock
    this.#shared = new SharedLimit({ ask: (calls, now) => countByKey(count, calls, now), clock, onError })
  }

  /** Counts one call of a key, of which `max` are allowed in a minute. Does not reject. */
  async take(name: string, max: number): Promise<Taken | undefined> {
    const now = this.#clock.now()
    // Names contain addresses and credentials, which are not stored.
    const key = hashToken(name).toString('base64url')
    const { until, resetAt } = this.#known.refusalOf(key) ?? { until: now, resetAt: now }
    if (now < until && until - now <= longestRefusal)
      return {
        allowed: false,
        remaining: 0,
        retryAfter: (until - now) / 1000,
        resetAfter: (resetAt - now) / 1000,
      }
    if (this.#shared.isSilent(now) || !this.#known.admit(key, now)) return undefined
    const taken = await this.#shared.take({ key, max })
    if (taken?.allowed === false)
      this.#known.refuse(key, {
        until: now + taken.retryAfter * 1000,
        resetAt: now + taken.resetAfter * 1000,
      })
    return taken
  }
}

/** Counts calls, those of one key in one row. */
async function countByKey(
  count: CountCalls,
  calls: readonly { key: string; max: number }[],
  now: number,
): Promise<Taken[]> {
  const byKey = Map.groupBy(calls, ({ key }) => key)
  const rows = [...byKey].map(([key, same]) => ({ key, max: same[0]!.max, wanted: same.length }))
  const counted = new Map<string, { row: Counted; answered: number }>()
  for (let from = 0; from < rows.length; from += mostAtOnce) {
    const some = rows.slice(from, from + mostAtOnce)
    const results = await count(some, now)
    for (const [index, { key }] of some.entries()) counted.set(key, { row: results[index]!, answered: 0 })
  }
  return calls.map(({ key, max }) => {
    const one = counted.get(key)!
    const { granted, before, passed } = one.row
    one.answered += 1
    // The first calls are granted.
    const allowed = one.answered <= granted
    return takenOf(
      { allowed, calls: allowed ? one.row.calls - granted + one.answered : one.row.calls, before, passed },
      max,
    )
  })
}

/** New keys in a second that one process admits. */
const newKeysPerSecond = 100
/** Known keys; beyond that, the oldest one is removed. */
const mostKnown = 20_000

/** When a refused key may call again, and when it may make all its calls; in milliseconds since 1970. */
interface Refusal {
  readonly until: number
  readonly resetAt: number
}

/** The keys whose calls are counted in the database. New ones are admitted slowly, so that a flood of them adds few rows. */
class KnownKeys {
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

/** See `count_calls` in storage/migrations/0001-initial/limits.ts. */
const countStatement = `
  select granted, calls, before, passed from count_calls($1::text[], $2::integer[], $3::integer[], $4) order by place`

/** Counts in the table that all processes share. */
export function postgresCallCounts(database: Pick<PostgresDatabase, 'pool'>): CountCalls {
  return (calls, now) => {
    const values = [
      calls.map(({ key }) => key),
      calls.map(({ wanted }) => wanted),
      calls.map(({ max }) => max),
      now,
    ]
    return poolRows<Counted>(database.pool, { name: 'count_calls', text: countStatement, values })
  }
}
