import type { InFlight } from '../../runtime/in-flight.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { releaseEvents } from './held-events.ts'
import { gather, leaseMargin } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from '../../runtime/wake-ups.ts'
import type { ModuleParts } from '../../http/service-module.ts'

export interface ClaimReleasesParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
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
