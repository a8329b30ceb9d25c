import { Period } from '../../runtime/clock.ts'
import type { InFlight } from '../../runtime/worker.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { PlanOf } from '../handlers/plan.ts'
import { type ClaimedEvent, type EventQueue, type Kind, keyOf } from '../queue/store.ts'
import { ClaimLost } from './interruptions.ts'
import { gather, leaseMargin, ownWork } from './timing.ts'
import type { WakeUps } from '../../runtime/repeated-pass.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/**
 * Milliseconds from a claim whose answer was lost until its statement cannot take effect any more: the server drops a connection
 * that is silent for eight seconds, and cancels a statement after ten.
 */
const claimLandsWithin = 30_000
/** Milliseconds until the next try: at first, and at most. They double, unless the database does not answer. */
const [firstPause, longestPause] = [1_000, 30_000]

/** An event, and the claim under which this process holds it. */
type EventClaim = Pick<ClaimedEvent, 'event' | 'claim'>

/** A claim of a round without an answer: it may hold events of these kinds that were due at `dueBy`. */
interface ClaimOfKinds {
  readonly claim: string
  readonly kinds: readonly Kind[]
  readonly dueBy: number
}

/** A claim of an insert without an answer: it may hold these events. */
interface ClaimOfEvents {
  readonly claim: string
  readonly events: readonly Pick<ClaimedEvent, 'source' | 'eventId'>[]
}

/** What is still to be done about events that this process has claimed. */
interface Unsettled {
  /** Returns whether nothing is left to do. */
  readonly settle: (now: number) => Promise<boolean>
  /** What the log says when that fails. */
  readonly failure: string
  /** When the leases end, and other processes take the events anyway. */
  readonly until: number
  readonly wait: Period
  pause: number
}

export interface ClaimsParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  planOf: PlanOf
  inFlight: InFlight
  wakeUps: WakeUps
}

/**
 * Ends claims of this process: releases events, so that any process can claim them. What fails while the database is unavailable is
 * tried again later; otherwise the events would wait until their leases end. Events that another process has claimed meanwhile are not
 * changed.
 */
export class Claims {
  readonly #parts: ClaimsParts
  readonly #unsettled = new Set<Unsettled>()
  #voided = 0

  constructor(parts: ClaimsParts) {
    this.#parts = parts
  }

  /** Whether events may still be held by claims that are over. */
  get anyUnsettled(): boolean {
    return this.#unsettled.size > 0
  }

  /** How often the claims in flight became void. If the number grows during a claim, its events are released instead of started. */
  get voided(): number {
    return this.#voided
  }

  /**
   * Makes the claims in flight void, because other processes may have taken them over, or the database may have forgotten them.
   */
  voidInFlight(): void {
    this.#voided += 1
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
    const { database, clock, log, planOf, wakeUps } = this.#parts
    try {
      await releaseEvents(database, claimed, pause > 0 ? clock.now() + pause : undefined)
      if (claimed.length > 0) wakeUps.in(Math.max(gather, pause))
    } catch (error) {
      log.warn({ err: error, events: claimed.length }, 'claimed events could not be released yet')
      const longest = Math.max(...claimed.map(({ source, type }) => planOf(source, type).timeout))
      // Without their payloads.
      const held = claimed.map(({ event, claim }) => ({ event, claim }))
      const settle = (): Promise<void> => releaseEvents(database, held)
      this.settleLater(settle, 'claimed events could not be released', clock.now() + longest + leaseMargin)
    }
  }

  /** Notes a claim whose answer was lost, or came after it had become void. None of its events was queued. */
  unanswered(lost: ClaimOfKinds | ClaimOfEvents): void {
    const { database, clock, log } = this.#parts
    const landedBy = clock.now() + claimLandsWithin
    this.#add({
      // Its statement may have taken effect, or may do so later.
      async settle(now) {
        const events = await releaseClaim(database, lost)
        if (events > 0) log.info({ events }, 'a claim whose response was lost was released')
        return now >= landedBy
      },
      failure: 'a claim whose response was lost could not be found; trying again',
      until: Infinity,
    })
  }

  /**
   * Tries again later what has just failed.
   * @param failure what the log says when it fails again
   * @param until when the leases of its events end, in milliseconds since 1970
   */
  settleLater(settle: () => Promise<void>, failure: string, until: number): void {
    this.#add({ settle: () => settle().then(() => true), failure, until })
    this.#parts.wakeUps.in(gather)
  }

  /**
   * Settles what can be settled now. Never rejects. Do not call it again before it has ended.
   * @param isLast whether this process makes no other try, so that none waits for its time
   */
  async settle(isLast = false): Promise<void> {
    if (!this.anyUnsettled) return
    for (const one of this.#unsettled) {
      const now = this.#parts.clock.now()
      if (one.until <= now) this.#unsettled.delete(one)
      // While the database does not answer, the others would fail, too. Any other failure concerns only this one.
      else if ((isLast || !one.wait.has(now)) && !(await this.#try(one, now))) return
    }
  }

  #add(given: Pick<Unsettled, 'settle' | 'failure' | 'until'>): void {
    this.#unsettled.add({ ...given, wait: new Period(), pause: firstPause })
  }

  /** Returns whether the database answers. */
  async #try(one: Unsettled, now: number): Promise<boolean> {
    one.wait.start(now, one.pause)
    try {
      if (await one.settle(now)) this.#unsettled.delete(one)
    } catch (error) {
      const isAway = error instanceof StorageUnavailable
      this.#parts.log[isAway ? 'warn' : 'error']({ err: error }, one.failure)
      if (isAway) return false
    }
    one.pause = Math.min(one.pause * 2, longestPause)
    return true
  }
}

/** An update of events of a claim, but of none that others have taken over or that is processed. */
function updateClaimed(tx: Tx, claim: string) {
  return tx.updateTable('event_queue').where('claim', '=', claim).where('status', '=', 'pending')
}

/** The update that releases them. They stay due since the same time: they have not failed. */
function release(tx: Tx, claim: string) {
  return updateClaimed(tx, claim).set({ claim: null, leased_until: null, alone_at: null })
}

/** The update that releases them at a later time: until then, a lease that is nobody's keeps them from all processes. */
function releaseAt(tx: Tx, claim: string, at: number) {
  return updateClaimed(tx, claim).set({ claim: '', leased_until: at, alone_at: null })
}

/**
 * Extends the lease of an event whose handlers start late under their claim: a long wait for a slot, or a first run of them, may have
 * used most of it.
 * @throws ClaimLost if another claim holds the event; StorageUnavailable
 */
export async function extendLease(
  database: Database,
  { event, claim }: EventClaim,
  until: number,
): Promise<void> {
  const { numUpdatedRows } = await database.transaction(
    (tx) =>
      updateClaimed(tx, claim)
        .set({ leased_until: until })
        .where('event', '=', event)
        .executeTakeFirstOrThrow(),
    ownWork,
  )
  if (numUpdatedRows === 0n) throw new ClaimLost()
}

/**
 * Releases claimed events.
 * @param from when they may be claimed again, in milliseconds since 1970, if not at once
 */
async function releaseEvents(database: Database, held: readonly EventClaim[], from?: number): Promise<void> {
  if (held.length === 0) return
  await database.transaction(async (tx) => {
    for (const [claim, events] of Map.groupBy(held, (one) => one.claim)) {
      const released = from === undefined ? release(tx, claim) : releaseAt(tx, claim, from)
      const numbers = events.map(({ event }) => event)
      await released.where('event', 'in', numbers).execute()
    }
  }, ownWork)
}

/** Events of a kind that are searched for those of a claim, which took the first free ones. */
const mostSearched = 10_000

/** Releases the events of a claim, and returns their number. */
function releaseClaim(database: Database, lost: ClaimOfKinds | ClaimOfEvents): Promise<number> {
  return database.transaction(async (tx) => {
    let events = 0
    for (const update of 'kinds' in lost ? ofKinds(tx, lost) : ofEvents(tx, lost)) {
      const { numUpdatedRows } = await update.executeTakeFirstOrThrow()
      events += Number(numUpdatedRows)
    }
    return events
  }, ownWork)
}

function ofKinds(tx: Tx, { claim, kinds, dueBy }: ClaimOfKinds) {
  return kinds.map(({ source, type }) => {
    const first = tx
      .selectFrom('event_queue')
      .select(['event', 'claim'])
      .where('status', '=', 'pending')
      .where('source', '=', source)
      .where('type', '=', type)
      .where('due_at', '<=', dueBy)
      .orderBy('due_at')
      .limit(mostSearched)
      .as('first')
    const held = tx.selectFrom(first).select('first.event').where('first.claim', '=', claim)
    return release(tx, claim).where('event', 'in', held)
  })
}

function ofEvents(tx: Tx, { claim, events }: ClaimOfEvents) {
  return [...Map.groupBy(events, ({ source }) => source)].map(([source, ofSource]) => {
    const ids = ofSource.map(({ eventId }) => eventId)
    return release(tx, claim).where('source', '=', source).where('event_id', 'in', ids)
  })
}

/**
 * The claims of this process after the database was restored to an earlier state. The database may hold claims of events that this process
 * has processed, and it may have forgotten claims of events that are running.
 */
export class RestoredClaims {
  /** How often the database was restored, and for how many of these times the claims have been released. */
  #restores = 0
  #released = 0
  /** Keys, which do not depend on the numbers of the log, of the events that have been running since before the restore. */
  readonly #running = new Set<string>()

  /** Whether the database may hold claims that nothing here knows. */
  get any(): boolean {
    return this.#released < this.#restores
  }

  /** Called when the database turns out to be restored. */
  restored(running: Iterable<ClaimedEvent>): void {
    this.#restores += 1
    for (const claimed of running) this.#running.add(keyOf(claimed))
  }

  /**
   * Releases the claims of events that this process neither runs nor has queued. Call it while no claim is in flight.
   * @param held the events that this process runs or has queued
   * @throws StorageUnavailable; the next call tries again
   */
  async releaseUnknown(store: Pick<EventQueue, 'releaseAllBut'>, held: () => ClaimedEvent[]): Promise<void> {
    if (!this.any) return
    const restores = this.#restores
    await store.releaseAllBut?.(held())
    this.#released = restores
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
