import { Problem } from '../../errors.ts'
import type { RateStatus } from '../../http/limits/rate-limits.ts'
import { type Clock, Period } from '../../runtime/clock.ts'
import { SharedLimit, burstOf, TokenBucket } from '../../runtime/shared-limit.ts'
import type { Pool } from 'pg'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { pagesOfKinds } from '../worker/due-kinds.ts'
import type { EventQueue, Kind } from '../queue/store.ts'

/** Why a verified event is rejected now. */
type NotAdmitted = 'limited' | 'backlogged'

export interface Admitted {
  /** The rest of the source's rate, for the response. */
  readonly rate?: RateStatus
  /** Why the event is rejected, with the response. */
  readonly refusal?: { readonly reason: NotAdmitted; readonly problem: Problem }
}

/** Seconds until a sender may try again while there is a backlog. */
const whileBacklogged = 60

interface AdmissionParts {
  backlog: Backlog
  /** Milliseconds that the oldest event of the source may have been waiting; 0 for any time. */
  maxAge: number
  /** Set if several processes share the rate. */
  shared: SharedSourceRateParts | undefined
}

/**
 * Decides whether a source may deliver another event now. Only verified events count, so that others cannot use up the rate. Returns a
 * promise, which does not reject, if other processes must be asked.
 * @param perSecond events a second; without it, any number
 */
export function admissionOf(source: string, perSecond: number | undefined, parts: AdmissionParts) {
  const { backlog, maxAge, shared } = parts
  const rateOf = (limit: number): SourceRate | SharedSourceRate =>
    shared ? new SharedSourceRate(source, limit, shared) : new SourceRate(limit)
  const rate = perSecond === undefined ? undefined : rateOf(perSecond)
  return (now: number): Admitted | Promise<Admitted> => {
    if (maxAge > 0 && backlog.ageOf(source, now) > maxAge) {
      const detail = 'Earlier events of this source have waited too long for their processing.'
      const problem = new Problem('overloaded', { retryAfter: whileBacklogged, detail })
      return { refusal: { reason: 'backlogged', problem } }
    }
    if (!rate) return {}
    const { limit } = rate
    const taken = rate.take(now)
    return taken instanceof Promise ? taken.then((it) => admit(it, limit)) : admit(taken, limit)
  }
}

function admit({ allowed, remaining, wait }: RateTaken, limit: number): Admitted {
  const rate: RateStatus = { limit, remaining, resetAfter: wait }
  if (allowed) return { rate }
  const detail = `At most ${limit} events of this source per second.`
  return {
    rate,
    refusal: { reason: 'limited', problem: new Problem('too-many-requests', { retryAfter: wait, detail }) },
  }
}

/** The state of a source's rate after an event. */
interface RateTaken {
  readonly allowed: boolean
  /** Events that could follow at once. */
  readonly remaining: number
  /** Seconds until the next event is allowed; after an allowed event, until the whole rate is available again. */
  readonly wait: number
}

/** Tolerates the rounding of fractions. */
const rounding = 1e-6

/** The declared rate of a source: events per second, and a burst of one second's events. */
export class SourceRate {
  readonly limit: number
  readonly #bucket: TokenBucket

  /** @param perSecond above 0; below 1, the burst is one event. */
  constructor(perSecond: number) {
    this.limit = perSecond
    this.#bucket = new TokenBucket(burstOf(perSecond), 0)
  }

  /** Takes one event at `now`, in milliseconds. A refused event costs nothing. */
  take(now: number): RateTaken {
    const missing = 1 - this.#bucket.fill(this.limit, now)
    if (missing > rounding) return { allowed: false, remaining: 0, wait: missing / this.limit }
    const left = this.#bucket.spend(this.limit, now)
    const wait = (burstOf(this.limit) - left) / this.limit
    return { allowed: true, remaining: Math.floor(left + rounding), wait }
  }
}

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

/** The part of the rate per second that one process reserves at most, so that ten statements a second suffice. */
const reservedShare = 1 / 10
/** Milliseconds for which a reservation is valid: an unused one must not add to a later burst. */
const reservationLasts = 1_000
/** Milliseconds without a request after one that was not granted in full. */
const requestInterval = 100
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
  readonly #shared: SharedLimit<undefined, RateTaken>
  /** Milliseconds that one event costs, and that can be owed. */
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
  readonly #spent = new Period()

  constructor(source: string, perSecond: number, parts: SharedSourceRateParts) {
    const { clock, onError } = parts
    this.limit = perSecond
    this.#source = source
    this.#parts = parts
    this.#alone = new SourceRate(perSecond)
    this.#shared = new SharedLimit({
      ask: (waiting, now) => this.#reserve(waiting.length, now),
      clock,
      onError,
    })
    this.#cost = 1000 / perSecond
    this.#credit = burstOf(perSecond) * this.#cost
    this.#mostReserved = Math.max(1, Math.floor(perSecond * reservedShare))
  }

  /** Takes one event at `now`, in milliseconds. Returns a promise, which does not reject, if none is reserved. */
  take(now: number): RateTaken | Promise<RateTaken> {
    if (this.#reserved > 0 && !this.#validity.has(now)) {
      this.#reserved = 0
      this.#size = Math.max(1, this.#size >> 1)
    }
    const isSilent = this.#shared.isSilent(now)
    if (this.#reserved > 0) {
      this.#reserved -= 1
      if (this.#reserved * 2 < this.#size && !this.#spent.has(now) && !isSilent) this.#shared.ask()
      return this.#allowed(now)
    }
    if (isSilent || this.#shared.waiting >= mostWaiting) return this.#alone.take(now)
    return this.#spent.has(now) ? this.#refused(now) : this.#ask()
  }

  async #ask(): Promise<RateTaken> {
    return (await this.#shared.take(undefined)) ?? this.#alone.take(this.#parts.clock.now())
  }

  #owedNow(now: number): number {
    return Math.min(this.#credit, Math.max(0, this.#owed - Math.max(0, now - this.#owedAt)))
  }

  #allowed(now: number): RateTaken {
    const owed = this.#owedNow(now)
    const left = Math.floor((this.#credit - owed) / this.#cost + rounding)
    const wait = Math.max(this.#cost, owed - this.#reserved * this.#cost) / 1000
    return { allowed: true, remaining: left + this.#reserved, wait }
  }

  #refused(now: number): RateTaken {
    const wait = Math.max(1, this.#owedNow(now) + this.#cost - this.#credit) / 1000
    return { allowed: false, remaining: 0, wait }
  }

  /** Reserves for the waiting events, and some more. Returns the answers for the waiting ones. */
  async #reserve(waiting: number, now: number): Promise<RateTaken[]> {
    const wanted = Math.max(waiting - this.#reserved, Math.min(this.#size, this.#mostReserved))
    const asked = { source: this.#source, wanted, cost: this.#cost, credit: this.#credit }
    const { granted, owed } = await this.#parts.reserve(asked, now)
    this.#owed = owed
    this.#owedAt = now
    this.#reserved += granted
    this.#validity.start(now, reservationLasts)
    if (granted === wanted) this.#size = Math.min(this.#size * 2, this.#mostReserved)
    else this.#spent.start(now, Math.max(requestInterval, owed + this.#cost - this.#credit))
    return Array.from({ length: waiting }, () => {
      if (this.#reserved === 0) return this.#refused(now)
      this.#reserved -= 1
      return this.#allowed(now)
    })
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

/** Milliseconds between two reads of the event queue, and for which a result is used. */
const interval = 1_000
const validFor = 10_000
/** Pages of kinds that are read at most. */
const mostPages = 10

interface BacklogParts {
  store: Pick<EventQueue, 'pendingKinds'>
  clock: Clock
  /** Whether the events of a kind wait on purpose: then they are no reason to refuse others. */
  isHeld?: (kind: Kind) => boolean
  /** Called before each read. */
  prepare?: () => Promise<void>
  onError: (error: unknown) => void
}

/**
 * How long the oldest due event of each source has waited for a worker. Requests are answered from memory. The event queue is read once
 * a second at most, and no request waits for that. An event that failed counts from its next attempt.
 */
export class Backlog {
  readonly #parts: BacklogParts
  #dueSince: ReadonlyMap<string, number> = new Map()
  #readAt = -Infinity
  /** When the latest read began, also if it failed. */
  #triedAt = -Infinity
  #reading = false

  constructor(parts: BacklogParts) {
    this.#parts = parts
  }

  /** Milliseconds; 0 if no event of the source waits, or if that is unknown. */
  ageOf(source: string, now: number): number {
    if (Math.abs(now - this.#triedAt) >= interval && !this.#reading) void this.#refresh(now)
    const due = Math.abs(now - this.#readAt) < validFor ? this.#dueSince.get(source) : undefined
    return due === undefined ? 0 : Math.max(0, now - due)
  }

  async #refresh(now: number): Promise<void> {
    this.#reading = true
    this.#triedAt = now
    try {
      this.#dueSince = await this.#read(now)
      this.#readAt = now
    } catch (error) {
      this.#parts.onError(error)
    } finally {
      this.#reading = false
    }
  }

  async #read(now: number): Promise<Map<string, number>> {
    const { store, prepare, isHeld } = this.#parts
    await prepare?.()
    const dueSince = new Map<string, number>()
    for await (const kinds of pagesOfKinds(store, now, mostPages))
      for (const kind of kinds) {
        if (isHeld?.(kind)) continue
        const { source, dueAt } = kind
        dueSince.set(source, Math.min(dueAt, dueSince.get(source) ?? dueAt))
      }
    return dueSince
  }
}
