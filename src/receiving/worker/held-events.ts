import type { Database, Tx } from '../../storage/database.ts'
import type { ClaimedEvent, Kind } from '../queue/store.ts'
import { ClaimLost } from './interruptions.ts'

/** The options of the worker's own transactions. The time limit detects a silent path. */
export const ownWork = { priority: 'work', timeLimit: 5_000 } as const

/** An event, and the claim under which this process holds it. */
export type Held = Pick<ClaimedEvent, 'event' | 'claim'>

/** An update of events of a claim, but of none that others have taken over or that is processed. */
function updateHeld(tx: Tx, claim: string) {
  return tx.updateTable('event_queue').where('claim', '=', claim).where('status', '=', 'pending')
}

/** The update that releases them. They stay due since the same time: they have not failed. */
function release(tx: Tx, claim: string) {
  return updateHeld(tx, claim).set({ claim: null, leased_until: null, alone_at: null })
}

/** The update that releases them at a later time: until then, a lease that is nobody's keeps them from all processes. */
function releaseAt(tx: Tx, claim: string, at: number) {
  return updateHeld(tx, claim).set({ claim: '', leased_until: at, alone_at: null })
}

/**
 * Extends the lease of an event whose handlers start late under their claim: a long wait for a slot, or a first run of them, may have
 * used most of it.
 * @throws ClaimLost if another claim holds the event; StorageUnavailable
 */
export async function extendLease(database: Database, { event, claim }: Held, until: number): Promise<void> {
  const { numUpdatedRows } = await database.transaction(
    (tx) =>
      updateHeld(tx, claim).set({ leased_until: until }).where('event', '=', event).executeTakeFirstOrThrow(),
    ownWork,
  )
  if (numUpdatedRows === 0n) throw new ClaimLost()
}

/**
 * Releases claimed events.
 * @param from when they may be claimed again, in milliseconds since 1970, if not at once
 */
export async function releaseEvents(database: Database, held: readonly Held[], from?: number): Promise<void> {
  if (held.length === 0) return
  await database.transaction(async (tx) => {
    for (const [claim, events] of Map.groupBy(held, (one) => one.claim)) {
      const released = from === undefined ? release(tx, claim) : releaseAt(tx, claim, from)
      const numbers = events.map(({ event }) => event)
      await released.where('event', 'in', numbers).execute()
    }
  }, ownWork)
}

/** A claim of a round without an answer: it may hold events of these kinds that were due at `dueBy`. */
export interface ClaimOfKinds {
  readonly claim: string
  readonly kinds: readonly Kind[]
  readonly dueBy: number
}

/** A claim of an insert without an answer: it may hold these events. */
export interface ClaimOfEvents {
  readonly claim: string
  readonly events: readonly Pick<ClaimedEvent, 'source' | 'eventId'>[]
}

/** Events of a kind that are searched for those of a claim, which took the first free ones. */
const mostSearched = 10_000

/** Releases the events of a claim, and returns their number. */
export function releaseClaim(database: Database, lost: ClaimOfKinds | ClaimOfEvents): Promise<number> {
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
