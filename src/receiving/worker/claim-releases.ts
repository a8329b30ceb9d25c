import type { InFlight } from '../../runtime/worker.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { ClaimedEvent, EventQueue } from '../queue/store.ts'
import { releaseEvents } from './held-events.ts'
import { gather, leaseMargin } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from '../../runtime/repeated-pass.ts'
import type { ModuleParts } from '../../http/service-module.ts'

interface ClaimReleasesParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  planOf: PlanOf
  unsettled: Unsettled
  inFlight: InFlight
  wakeUps: WakeUps
}

/** Releases claimed events, so that any process can claim them. */
export class ClaimReleases {
  readonly #parts: ClaimReleasesParts

  constructor(parts: ClaimReleasesParts) {
    this.#parts = parts
  }

  /** As `release`, without a wait: a stop of the worker waits for it. */
  releaseSoon(claimed: readonly ClaimedEvent[], pause = 0): void {
    if (claimed.length > 0) void this.#parts.inFlight.add(this.release(claimed, pause))
  }

  /**
   * Lets any process claim the events, with the age that they have. While the database does not answer, remembers them for later.
   * Never rejects.
   * @param pause milliseconds until they may be claimed
   */
  async release(claimed: readonly ClaimedEvent[], pause = 0): Promise<void> {
    const { database, clock, log, planOf, unsettled, wakeUps } = this.#parts
    try {
      await releaseEvents(database, claimed, pause > 0 ? clock.now() + pause : undefined)
      if (claimed.length > 0) wakeUps.in(Math.max(gather, pause))
    } catch (error) {
      log.warn({ err: error, events: claimed.length }, 'claimed events could not be released yet')
      for (const one of claimed) {
        const { timeout } = planOf(one.source, one.type)
        unsettled.toRelease(one, clock.now() + timeout + leaseMargin)
      }
      wakeUps.in(gather)
    }
  }
}

/**
 * The claims of this process after the database was restored to an earlier state. The database may hold claims of events that this process
 * has processed, and it may have forgotten claims of events that are running.
 */
export class RestoredClaims {
  /** Whether claims are to be released, and whether that is being done. */
  #pending = false
  #releasing = false
  /** Keys of the events that have been running since before the database was restored. */
  readonly #running = new Set<string>()

  /** Whether the database may hold claims that nothing here knows. */
  get any(): boolean {
    return this.#pending || this.#releasing
  }

  /** Called when the database turns out to be restored. */
  restored(running: Iterable<ClaimedEvent>): void {
    this.#pending = true
    for (const claimed of running) this.#running.add(keyOf(claimed))
  }

  /**
   * Releases the claims of events that this process neither runs nor has queued. Call it while no claim is in flight.
   * @param held the events that this process runs or has queued
   * @throws StorageUnavailable; the next call tries again
   */
  async releaseUnknown(store: Pick<EventQueue, 'releaseAllBut'>, held: () => ClaimedEvent[]): Promise<void> {
    if (!this.#pending) return
    this.#pending = false
    this.#releasing = true
    try {
      await store.releaseAllBut?.(held())
    } catch (error) {
      this.#pending = true
      throw error
    } finally {
      this.#releasing = false
    }
  }

  /** Tells claimed events whose handlers are still running from the others. */
  divide(claimed: readonly ClaimedEvent[]): {
    running: readonly ClaimedEvent[]
    others: readonly ClaimedEvent[]
  } {
    if (this.#running.size === 0) return { running: [], others: claimed }
    const { running = [], others = [] } = Object.groupBy(claimed, (one) =>
      this.#running.has(keyOf(one)) ? 'running' : 'others',
    )
    return { running, others }
  }

  /** Called when the handlers of an event have ended. */
  ended(claimed: ClaimedEvent): void {
    if (this.#running.size > 0) this.#running.delete(keyOf(claimed))
  }
}

/** Identifies an event independently of its number in the log. */
function keyOf({ source, eventId }: ClaimedEvent): string {
  return `${source} ${eventId}`
}
