import { equalBytes } from '../crypto/tokens.ts'
import { Problem } from '../errors.ts'
import type { Tx } from '../storage/database.ts'
import type { PreparedEvent } from './event.ts'

/** Rows of one statement: well under the engines' bounds on parameters. */
const rowsPerStatement = 500

/** Where an event is in the log, and whether it was not there before. */
export interface Recorded {
  id: number
  isNew: boolean
}

interface Known {
  event: number
  digest: Uint8Array
}

/**
 * Writes events down, unless their ids were there before: a few statements, however many events. The same id again is
 * the first result when the content is the same, also within one call.
 * @returns for each event in turn its place, or the Problem `id-conflict`
 */
export async function recordEvents(
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<(Recorded | Problem)[]> {
  const known = await findKnown(
    tx,
    events.map(({ eventId }) => eventId),
  )
  const firsts = new Map<string, PreparedEvent>()
  for (const event of events)
    if (!known.has(event.eventId) && !firsts.has(event.eventId)) firsts.set(event.eventId, event)
  const made = await insertEvents(tx, [...firsts.values()], now, causedBy)
  for (const [eventId, place] of made.lost) known.set(eventId, place)
  return events.map((event) => {
    const { eventId, digest } = event
    const before = known.get(eventId)
    const first = firsts.get(eventId)
    if (!equalBytes(before?.digest ?? first!.digest, digest)) return idConflict(eventId)
    return before
      ? { id: before.event, isNew: false }
      : { id: made.ids.get(eventId)!, isNew: first === event }
  })
}

async function findKnown(tx: Tx, eventIds: readonly string[]): Promise<Map<string, Known>> {
  const known = new Map<string, Known>()
  for (const ids of chunks(eventIds)) {
    const rows = await tx
      .selectFrom('outbox')
      .select(['event', 'event_id', 'digest'])
      .where('event_id', 'in', ids)
      .execute()
    for (const { event_id, ...rest } of rows) known.set(event_id, rest)
  }
  return known
}

/** @returns the places of new events, and what was there already of those that another transaction wrote meanwhile */
async function insertEvents(
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<{ ids: Map<string, number>; lost: Map<string, Known> }> {
  const ids = new Map<string, number>()
  for (const some of chunks(events)) {
    const rows = await tx
      .insertInto('events')
      .values(
        some.map(({ eventId, type, payload }) => ({
          event_id: eventId,
          direction: 'emitted' as const,
          source: null,
          type,
          content_type: 'application/json',
          payload,
          headers: null,
          created_at: now,
        })),
      )
      .returning(['id', 'event_id'])
      .execute()
    for (const { id, event_id } of rows) ids.set(event_id, id)
  }
  // In one order everywhere: two transactions with the same ids then wait for each other in one direction only.
  const marks = events.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
  const marked = new Set<string>()
  for (const some of chunks(marks)) {
    // A unique violation would end a transaction of PostgreSQL, and the caller's work with it.
    const rows = await tx
      .insertInto('outbox')
      .values(
        some.map(({ eventId, digest, audience }) => ({
          event: ids.get(eventId)!,
          event_id: eventId,
          digest,
          audience,
          created_at: now,
          caused_by: causedBy,
        })),
      )
      .onConflict((conflict) => conflict.column('event_id').doNothing())
      .returning('event_id')
      .execute()
    for (const { event_id } of rows) marked.add(event_id)
  }
  // Other transactions with the same ids committed while this one waited for them.
  const beaten = events.map(({ eventId }) => eventId).filter((eventId) => !marked.has(eventId))
  if (beaten.length === 0) return { ids, lost: new Map() }
  for (const some of chunks(beaten)) {
    const places = some.map((eventId) => ids.get(eventId)!)
    await tx.deleteFrom('events').where('id', 'in', places).execute()
  }
  const lost = await findKnown(tx, beaten)
  const missing = beaten.find((eventId) => !lost.has(eventId))
  if (missing !== undefined) throw new Error(`the outbox refused ${missing} and does not hold it`)
  return { ids, lost }
}

function idConflict(eventId: string): Problem {
  return new Problem('id-conflict', {
    detail: `An event with the id ${eventId} was emitted before, with another type, other data or another audience.`,
  })
}

function* chunks<T>(all: readonly T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += rowsPerStatement)
    yield all.slice(from, from + rowsPerStatement)
}
