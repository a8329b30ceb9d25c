import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import type { GroupUse } from './bound-uses.ts'

/** Milliseconds up to which handlers count as quick. */
export const quickHandler = 200
/** Milliseconds up to which handlers count as instant. */
const instantHandler = 50
/** Milliseconds that a handler of which nothing is known counts as: after four instant runs it is instant. */
const unknownHandler = 400
/** Milliseconds up to which transactions may share a commit. */
const shortTransaction = 100
/** Milliseconds that a transaction counts as at most. One that ran out of time counts as more, so that it counts for longer. */
const [longTransaction, endlessTransaction] = [1_000, 16_000]

/** How long the handlers of a concurrency group and their transactions took lately. */
export class HandlerPace {
  #duration = unknownHandler
  #transaction = 0

  /** Milliseconds that the handlers took lately. */
  get duration(): number {
    return this.#duration
  }

  get isQuick(): boolean {
    return this.#duration <= quickHandler
  }

  get isInstant(): boolean {
    return this.#duration <= instantHandler
  }

  /** Whether the transactions have been short, so that they may share a commit with others. */
  get hasShortTransactions(): boolean {
    return this.#transaction <= shortTransaction
  }

  /** Whether a transaction has blocked others for so long that one may run at a time. */
  get isExclusive(): boolean {
    return this.#transaction > longTransaction
  }

  /** Records a successful handler: `lasted` milliseconds, of which its transaction took `transaction`. */
  succeeded(lasted: number, transaction: number): void {
    this.#duration = average(this.#duration, lasted)
    this.#transaction = average(this.#transaction, Math.min(transaction, longTransaction))
  }

  /** Records a failed handler, whose duration tells nothing. */
  failed(): void {
    this.#duration = average(this.#duration, unknownHandler)
  }

  /** Records a transaction that delayed others. */
  heldUpOthers(): void {
    this.#transaction = average(this.#transaction, longTransaction)
  }

  /** Records a transaction that blocked other writers for too long. */
  ranOutOfTime(): void {
    this.#transaction = endlessTransaction
  }
}

/** Updates an average that rises at once and falls by half of the difference. */
function average(before: number, now: number): number {
  return now > before ? now : (before + now) / 2
}

/** A claimed event that waits for a slot of its concurrency group, or has one. */
export interface Queued {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** When its lease began, in milliseconds since 1970. */
  readonly claimedAt: number
  /** Whether it needs a transaction of its own, because a shared one has failed. */
  readonly alone?: boolean
}

/** The handlers that share slots: how many run, how fast they are, and the claimed events that wait for them. */
export class ConcurrencyGroup implements GroupUse {
  running = 0
  /** Events that are being claimed. */
  reserved = 0
  readonly pace = new HandlerPace()
  /** Moving average of the payloads that were claimed lately. */
  bytes = 0
  readonly queue: Queued[] = []

  get taken(): number {
    return this.queue.length + this.reserved
  }

  add(queued: Queued): void {
    this.queue.push(queued)
    this.bytes += (queued.claimed.payload.length - this.bytes) / 16
  }

  /** Whether an event of a bound is queued. */
  waitsFor(key: string): boolean {
    return this.queue.some(({ plan }) => plan.bounds.some((bound) => bound.key === key))
  }

  /** Removes and returns the queued events. */
  withdraw(): ClaimedEvent[] {
    return this.queue.splice(0).map(({ claimed }) => claimed)
  }

  /** Removes and returns the queued events of the plans that `isPaused` names. */
  withdrawPaused(isPaused: (plan: Plan) => boolean): ClaimedEvent[] {
    const paused = this.queue.filter(({ plan }) => isPaused(plan))
    if (paused.length > 0)
      this.queue.splice(0, this.queue.length, ...this.queue.filter(({ plan }) => !isPaused(plan)))
    return paused.map(({ claimed }) => claimed)
  }
}
