import type { Clock } from '../../runtime/clock.ts'
import { Period } from '../../runtime/period.ts'
import { chargeOf, SourceRate, type RateTaken } from './source-rate.ts'
import type { Pool } from 'pg'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'

/** The answer to a reservation. */
export interface Reserved {
  /** Events that this process may accept. */
  readonly granted: number
  /** Milliseconds that it takes to pay for everything that was reserved. */
  readonly owed: number
}

/**
 * Reserves up to `wanted` events of a source, each of which costs `cost` milliseconds, while no more than `credit` is owed.
 * @throws StorageUnavailable
 */
export type ReserveRate = (
  asked: { source: string; wanted: number; cost: number; credit: number },
  now: number,
) => Promise<Reserved>

export interface SharedSourceRateParts {
  reserve: ReserveRate
  clock: Clock
  onError: (error: unknown) => void
}

type Answer = (taken: RateTaken) => void

/** The part of the rate per second that one process reserves at most, so that ten statements a second suffice. */
const reservedShare = 1 / 10
/** Milliseconds for which a reservation is valid: an unused one must not add to a later burst. */
const reservationLasts = 1_000
/** Milliseconds without a request after one that was not granted in full. */
const requestInterval = 100
/** Milliseconds that a webhook waits for an answer; and for which the process counts alone after a time-out or failure. */
const maxWait = 1_000
const pause = 5_000
/** Webhooks that wait for the answer; more are counted by the process alone. */
const mostWaiting = 10_000

/**
 * The rate limit of a source for all processes together. A process reserves events ahead, more at a time while it uses them up, so that
 * few webhooks wait for the database. While the database does not answer, the process applies the limit alone.
 */
export class SharedSourceRate {
  readonly limit: number
  readonly #source: string
  readonly #parts: SharedSourceRateParts
  readonly #alone: SourceRate
  readonly #cost: number
  readonly #credit: number
  readonly #mostReserved: number
  /** Reserved events, and the period in which they are valid. */
  #reserved = 0
  readonly #validity = new Period()
  /** Events that the next statement reserves. */
  #size = 1
  /** Milliseconds that all processes owe, by the last answer. */
  #owed = 0
  #owedAt = 0
  #waiting: Answer[] = []
  #requesting = false
  /** Whether the request has taken longer than `maxWait`. */
  #isLate = false
  readonly #spent = new Period()
  readonly #away = new Period()

  constructor(source: string, perSecond: number, parts: SharedSourceRateParts) {
    const { cost, credit } = chargeOf(perSecond)
    this.limit = perSecond
    this.#source = source
    this.#parts = parts
    this.#alone = new SourceRate(perSecond)
    this.#cost = cost
    this.#credit = credit
    this.#mostReserved = Math.max(1, Math.floor(perSecond * reservedShare))
  }

  /** Takes one event at `now`, in milliseconds. Returns a promise, which does not reject, if none is reserved. */
  take(now: number): RateTaken | Promise<RateTaken> {
    if (this.#reserved > 0 && !this.#validity.has(now)) {
      this.#reserved = 0
      this.#size = Math.max(1, this.#size >> 1)
    }
    if (this.#reserved > 0) {
      this.#reserved -= 1
      const short = this.#reserved * 2 < this.#size && !this.#requesting
      if (short && !this.#spent.has(now) && !this.#away.has(now)) void this.#request()
      return this.#allowed(now)
    }
    if (this.#isLate || this.#away.has(now) || this.#waiting.length >= mostWaiting)
      return this.#alone.take(now)
    if (this.#spent.has(now)) return this.#refused(now)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (!this.#requesting) void this.#request()
    })
  }

  #owedNow(now: number): number {
    return Math.min(this.#credit, Math.max(0, this.#owed - Math.max(0, now - this.#owedAt)))
  }

  #allowed(now: number): RateTaken {
    const owed = this.#owedNow(now)
    const left = Math.floor((this.#credit - owed) / this.#cost + 1e-6)
    const wait = Math.max(this.#cost, owed - this.#reserved * this.#cost) / 1000
    return { allowed: true, remaining: left + this.#reserved, wait }
  }

  #refused(now: number): RateTaken {
    const wait = Math.max(1, this.#owedNow(now) + this.#cost - this.#credit) / 1000
    return { allowed: false, remaining: 0, wait }
  }

  /** Reserves for the waiting events, and some more. */
  async #request(): Promise<void> {
    const { reserve, clock, onError } = this.#parts
    this.#requesting = true
    // Events of the same turn share a request.
    await Promise.resolve()
    do {
      const now = clock.now()
      const cancel = clock.after(maxWait, () => {
        this.#isLate = true
        this.#giveUp()
      })
      try {
        const wanted = Math.max(this.#waiting.length, Math.min(this.#size, this.#mostReserved))
        const asked = { source: this.#source, wanted, cost: this.#cost, credit: this.#credit }
        this.#grant(await reserve(asked, now), wanted, now)
      } catch (error) {
        onError(error)
        this.#giveUp()
      } finally {
        cancel()
        this.#isLate = false
      }
    } while (this.#waiting.length > 0)
    this.#requesting = false
  }

  #grant({ granted, owed }: Reserved, wanted: number, now: number): void {
    this.#owed = owed
    this.#owedAt = now
    this.#reserved += granted
    this.#validity.start(now, reservationLasts)
    if (granted === wanted) this.#size = Math.min(this.#size * 2, this.#mostReserved)
    else this.#spent.start(now, Math.max(requestInterval, owed + this.#cost - this.#credit))
    for (const answer of this.#waiting.splice(0, this.#reserved)) {
      this.#reserved -= 1
      answer(this.#allowed(now))
    }
    if (granted < wanted) for (const answer of this.#waiting.splice(0)) answer(this.#refused(now))
  }

  /** This process alone counts the waiting events, and the next ones for a while. */
  #giveUp(): void {
    const now = this.#parts.clock.now()
    this.#away.start(now, pause)
    for (const answer of this.#waiting.splice(0)) answer(this.#alone.take(now))
  }
}

/** See `take_source_rate` in storage/migrations/0001-initial/limits.ts. */
const reserveStatement = `
  select granted, owed from take_source_rate($1, $2, $3::double precision, $4::double precision, $5::double precision)`

/** Reserves events of a source in the row that all processes share. */
export function postgresRates(pool: Pool): ReserveRate {
  return async ({ source, wanted, cost, credit }, now) => {
    const values = [source, wanted, cost, credit, now]
    const [row] = await poolRows<Reserved>(pool, { name: 'source_rate', text: reserveStatement, values })
    return row!
  }
}
