import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import type { GroupUse } from './bound-uses.ts'
import { HandlerPace } from './handler-pace.ts'

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
