import type { Random } from '../runtime/clock.ts'
import { Breaker } from './breaker.ts'
import type { Destination } from './destinations.ts'
import { beginning, type AttemptRecord, type Claimed, type Payload, type Place } from './store.ts'

/** A delivery that waits for a place in its lane. */
export interface Queued {
  readonly delivery: Claimed
  /** Read when its turn comes, if it is too large to be kept. */
  readonly payload: Payload | undefined
}

/** More than any concurrency. */
const fullTrust = 1024
/** First attempts that go before a retry, where both wait. */
const freshPerRetry = 3

/** How an exchange ended, as far as it says something of the subscriber. */
export type Ending =
  /** It answered, be it with a refusal. */
  | 'answered'
  /** It answered that it cannot answer: 408, 429 or 5xx. */
  | 'refused'
  /** No answer came. */
  | 'silent'
  /** This process ended it. */
  | 'broken-off'

export function endingOf({ status }: Pick<AttemptRecord, 'status'>): Ending {
  if (status === null) return 'silent'
  return status === 408 || status === 429 || status >= 500 ? 'refused' : 'answered'
}

/** Deliveries of one kind, first attempts or retries, that were read and wait, and where reading goes on. */
class Stock {
  readonly waiting: Queued[] = []
  behind: Place = beginning
  /** Whether there may be more in the table. */
  more = true

  clear(): Queued[] {
    this.behind = beginning
    this.more = true
    return this.waiting.splice(0)
  }
}

/**
 * What one subscriber has waiting and under way. Keeps it within its concurrency and its rate, so that none takes what
 * others need. One that does not answer soon gets a single attempt at a time: hundreds of those may hang and hold up
 * nobody. First attempts and retries wait apart, so that a wall of retries does not hold up what is new.
 */
export class Lane {
  readonly id: string
  /** Lanes that were made before it have lower ones. */
  readonly since: number
  readonly fresh = new Stock()
  readonly retries = new Stock()
  readonly breaker: Breaker
  /** Read before anything begins. */
  destination: Destination | undefined
  /** Whether the destination has to be read again before anything begins. */
  stale = true
  /** How often this process changed the subscriber. */
  changes = 0
  /** When the destination was last read, and when the stocks last began from the beginning. */
  checkedAt = 0
  begunAgainAt = 0
  /** Deliveries in memory: waiting, under way or being written down. */
  held = 0
  running = 0
  /** The highest id that was ever seen. */
  highest = 0
  readonly madeAt: number
  /** When it last had something to do. */
  usedAt: number
  /** Whether a timer waits for its rate or its breaker. */
  waits = false
  /** It takes nothing more: others are to have their turn. */
  leaving = false
  /** Attempts at a time that its answers deserve: halved when none comes, doubled by each one. */
  #trust = fullTrust
  #freshInTurn = 0
  #tokens: number | undefined
  /** Tokens a second when they were last counted: it is paused by now, perhaps, and has no destination. */
  #rate: number | undefined
  #refilledAt = 0

  constructor(id: string, since: number, now: number, random: Random) {
    this.id = id
    this.since = since
    this.madeAt = this.usedAt = now
    this.breaker = new Breaker(random)
  }

  get waiting(): number {
    return this.fresh.waiting.length + this.retries.waiting.length
  }

  /** Whether its last answers were late: then it must not take many of the places that all share. */
  get suspect(): boolean {
    return this.#trust < fullTrust
  }

  /** Whether it has nothing to do, and knows nothing that another lane of the same subscriber would not. */
  get forgettable(): boolean {
    return this.held === 0 && this.running === 0 && !this.suspect && this.breaker.clear
  }

  /** Whether its rate is still to be waited for: a lane that was made anew would begin with an attempt. */
  owes(now: number): boolean {
    return this.#rate !== undefined && this.#refill(this.#rate, now) < 1
  }

  /**
   * How many more attempts may begin now.
   * @param scarce whether there is little left for all together: then only who has nothing under way gets one
   */
  room(now: number, scarce = false): number {
    const { destination } = this
    if (!destination || this.stale) return 0
    const places = Math.min(scarce ? 1 : destination.concurrency, this.#trust) - this.running
    // An ordered lane is held up by its first delivery, whose schedule is probe enough.
    const free = destination.ordered ? places : Math.min(places, this.breaker.room(now))
    return destination.rate === undefined
      ? free
      : Math.min(free, Math.floor(this.#refill(destination.rate, now)))
  }

  /** Milliseconds until its rate or its breaker allows another attempt; `undefined` when neither is in the way. */
  wait(now: number): number | undefined {
    const { destination, breaker } = this
    if (!destination) return undefined
    const breakerWait = destination.ordered ? undefined : breaker.wait(now)
    if (breakerWait !== undefined) return breakerWait
    if (destination.rate === undefined) return undefined
    const tokens = this.#refill(destination.rate, now)
    return tokens >= 1 ? undefined : Math.ceil(((1 - tokens) / destination.rate) * 1000)
  }

  /** The next to begin; its place is taken. */
  begin(now: number): Queued | undefined {
    const retry = this.fresh.waiting.length === 0 || this.#freshInTurn >= freshPerRetry
    const stock = retry && this.retries.waiting.length > 0 ? this.retries : this.fresh
    const next = stock.waiting.shift()
    if (!next) return undefined
    this.#freshInTurn = stock === this.retries ? 0 : this.#freshInTurn + 1
    this.running += 1
    this.usedAt = now
    this.breaker.begin()
    if (this.destination?.rate !== undefined) this.#tokens = this.#refill(this.destination.rate, now) - 1
    return next
  }

  end(ending: Ending, now: number): void {
    this.running -= 1
    this.usedAt = now
    if (ending === 'broken-off') return this.breaker.brokenOff()
    if (ending === 'answered') this.breaker.succeeded()
    else this.breaker.failed(now)
    this.#trust =
      ending === 'silent'
        ? Math.max(1, Math.floor(Math.min(this.#trust, this.running + 1) / 2))
        : Math.min(fullTrust, this.#trust * 2)
  }

  /**
   * Tokens come back at `rate` per second; at most one second's worth is saved up. A lane begins with one: whoever had it
   * before may have just spent all.
   */
  #refill(rate: number, now: number): number {
    this.#rate = rate
    const most = Math.max(1, rate)
    const gained = (Math.max(0, now - this.#refilledAt) / 1000) * rate
    this.#tokens = this.#tokens === undefined ? 1 : Math.min(most, this.#tokens + gained)
    this.#refilledAt = now
    return this.#tokens
  }
}
