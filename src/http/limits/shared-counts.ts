import type { Clock } from '../../runtime/clock.ts'
import { Period } from '../../runtime/period.ts'
import { hashToken } from '../../crypto/tokens.ts'
import { type Taken, takenOf } from './rate-limiter.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'

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

export interface SharedCountsParts {
  count: CountCalls
  clock: Clock
  onError: (error: unknown) => void
}

type Answer = (taken: Taken | undefined) => void

/** Keys that one statement counts. */
const mostAtOnce = 100
/** Milliseconds that a request waits for the answer. */
const maxWait = 1_000
/** Milliseconds without questions after a failure or a missing answer. */
const pause = 5_000
/** Milliseconds that a refusal counts at most: the rest of this minute, and the next one. After the clock is set back, it would count for longer. */
const longestRefusal = 120_000

/**
 * Counts calls of all processes in the database, for calls that the process's own count allows. A refused key is remembered until
 * it may call again; until then the database is not asked. One statement at a time counts all waiting calls.
 *
 * If the database does not answer within a second, or too many keys are new, the result is `undefined`, and only the process's own
 * count applies. A flood from many addresses therefore adds at most a hundred rows per second and process.
 */
export class SharedCounts {
  readonly #parts: SharedCountsParts
  readonly #known = new KnownKeys()
  /** By key. */
  readonly #waiting = new Map<string, { max: number; answers: Answer[] }>()
  #counting = false
  readonly #pause = new Period()

  constructor(parts: SharedCountsParts) {
    this.#parts = parts
  }

  /** Counts one call of a key, of which `max` are allowed in a minute. Does not reject. */
  async take(name: string, max: number): Promise<Taken | undefined> {
    const { clock } = this.#parts
    const now = clock.now()
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
    if (this.#pause.has(now)) return undefined
    if (!this.#known.admit(key, now)) return undefined
    const taken = await new Promise<Taken | undefined>((resolve) => {
      const cancel = clock.after(maxWait, () => {
        this.#pause.start(clock.now(), pause)
        resolve(undefined)
      })
      const answer: Answer = (taken) => {
        cancel()
        resolve(taken)
      }
      const waiting = this.#waiting.get(key)
      if (waiting) waiting.answers.push(answer)
      else this.#waiting.set(key, { max, answers: [answer] })
      if (!this.#counting) void this.#countWaiting()
    })
    if (taken?.allowed === false)
      this.#known.refuse(key, {
        until: now + taken.retryAfter * 1000,
        resetAt: now + taken.resetAfter * 1000,
      })
    return taken
  }

  async #countWaiting(): Promise<void> {
    const { count, clock, onError } = this.#parts
    this.#counting = true
    // One request may count calls of several keys.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const pending = [...this.#waiting].slice(0, mostAtOnce)
      for (const [key] of pending) this.#waiting.delete(key)
      try {
        const calls = pending.map(([key, { max, answers }]) => ({ key, max, wanted: answers.length }))
        const counted = await count(calls, clock.now())
        for (const [index, [, { max, answers }]] of pending.entries())
          answerAll(answers, counted[index]!, max)
      } catch (error) {
        this.#pause.start(clock.now(), pause)
        onError(error)
        const unanswered = [...pending, ...this.#waiting]
        this.#waiting.clear()
        for (const [, { answers }] of unanswered) for (const answer of answers) answer(undefined)
      }
    }
    this.#counting = false
  }
}

/** The first calls are granted. */
function answerAll(
  answers: readonly Answer[],
  { granted, calls, before, passed }: Counted,
  max: number,
): void {
  for (const [index, answer] of answers.entries()) {
    const allowed = index < granted
    const callsThen = allowed ? calls - granted + index + 1 : calls
    answer(takenOf({ allowed, calls: callsThen, before, passed }, max))
  }
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
