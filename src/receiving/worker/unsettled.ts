import { Period } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import {
  releaseClaimOfEvents,
  releaseClaimOfKinds,
  releaseEvents,
  type ClaimOfEvents,
  type ClaimOfKinds,
  type Held,
} from './held-events.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/**
 * Milliseconds from a claim whose answer was lost until its statement cannot take effect any more: the server drops a connection
 * that is silent for eight seconds, and cancels a statement after ten.
 */
const claimLandsWithin = 30_000
/** Milliseconds until the same claim is looked for again, or the same failure recorded, at first: doubled by each try. */
const firstPause = 1_000

/** A claim without an answer: its statement may have taken effect, or may do so later. None of its events was queued. */
interface UnansweredClaim {
  /** Releases the events that it holds, and returns their number. */
  readonly release: () => Promise<number>
  readonly landedBy: number
  readonly wait: Period
  pause: number
}

interface Unreleased {
  readonly held: Held
  /** When the lease ends, and other processes take the event anyway. */
  readonly leaseEnds: number
}

interface Unrecorded {
  readonly record: () => Promise<void>
  readonly leaseEnds: number
  readonly wait: Period
  pause: number
}

export type UnsettledParts = Pick<ModuleParts, 'database' | 'clock' | 'log'>

/**
 * Claims of this process that could not be released, and failures that could not be recorded, because the database was away. They are
 * settled when it is back; otherwise the events would wait until their leases end. Events that another process has claimed
 * meanwhile are not changed.
 */
export class Unsettled {
  readonly #parts: UnsettledParts
  #claims: UnansweredClaim[] = []
  #unreleased: Unreleased[] = []
  #unrecorded: Unrecorded[] = []

  constructor(parts: UnsettledParts) {
    this.#parts = parts
  }

  /** Whether events may still be held by claims of this process. */
  get any(): boolean {
    return this.#claims.length + this.#unreleased.length + this.#unrecorded.length > 0
  }

  /** Notes a claim whose answer was lost, or came after the claims of this process had become void. */
  claimUnanswered(lost: ClaimOfKinds | ClaimOfEvents): void {
    const { database, clock } = this.#parts
    const now = clock.now()
    const release = (): Promise<number> =>
      'kinds' in lost ? releaseClaimOfKinds(database, lost) : releaseClaimOfEvents(database, lost)
    this.#claims.push({ release, landedBy: now + claimLandsWithin, wait: new Period(), pause: firstPause })
  }

  /** Notes an event that is to be released. */
  toRelease({ event, claim }: Held, leaseEnds: number): void {
    this.#unreleased.push({ held: { event, claim }, leaseEnds })
  }

  /** Notes a failed attempt that is to be recorded. */
  toRecord(record: () => Promise<void>, leaseEnds: number): void {
    this.#unrecorded.push({ record, leaseEnds, wait: new Period(), pause: firstPause })
  }

  /**
   * Settles what can be settled now. Do not call it again before it has ended.
   * @throws StorageUnavailable; the rest stays for the next call
   */
  async settle(): Promise<void> {
    if (!this.any) return
    await this.#releaseEvents()
    await this.#recordFailures()
    await this.#releaseClaims()
  }

  async #releaseEvents(): Promise<void> {
    if (this.#unreleased.length === 0) return
    const { database, clock } = this.#parts
    const now = clock.now()
    const all = this.#unreleased.filter(({ leaseEnds }) => leaseEnds > now)
    this.#unreleased = []
    try {
      const held = all.map((one) => one.held)
      await releaseEvents(database, held)
    } catch (error) {
      this.#unreleased.push(...all)
      throw error
    }
  }

  async #recordFailures(): Promise<void> {
    const { clock, log } = this.#parts
    const now = clock.now()
    const all = this.#unrecorded.filter(({ leaseEnds }) => leaseEnds > now)
    this.#unrecorded = []
    for (const [index, one] of all.entries()) {
      if (one.wait.has(now)) {
        this.#unrecorded.push(one)
        continue
      }
      try {
        await one.record()
      } catch (error) {
        if (error instanceof StorageUnavailable) {
          this.#unrecorded.push(...all.slice(index))
          throw error
        }
        one.wait.start(now, one.pause)
        one.pause *= 2
        this.#unrecorded.push(one)
        log.error({ err: error }, 'a failed attempt could not be recorded; trying again')
      }
    }
  }

  async #releaseClaims(): Promise<void> {
    const { clock, log } = this.#parts
    const over = new Set<UnansweredClaim>()
    for (const lost of this.#claims) {
      const now = clock.now()
      if (lost.wait.has(now)) continue
      lost.wait.start(now, lost.pause)
      try {
        const events = await lost.release()
        if (events > 0) log.info({ events }, 'a claim whose response was lost was released')
        lost.pause *= 2
        if (now >= lost.landedBy) over.add(lost)
      } catch (error) {
        // Other events can still be claimed.
        log.warn({ err: error }, 'a claim whose response was lost could not be found; trying again')
      }
    }
    this.#claims = this.#claims.filter((lost) => !over.has(lost))
  }
}
