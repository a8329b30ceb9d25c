import { CompiledQuery } from 'kysely'
import { equalBytes } from '../crypto/constant-time.ts'
import { Problem } from '../errors.ts'
import type { Tx } from '../storage/database.ts'
import { arrayLiteral } from '../storage/postgres/array-literal.ts'
import { prepare } from '../storage/postgres/prepared.ts'
import type { Engine } from '../storage/query-runner.ts'
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
  engine: Engine,
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<(Recorded | Problem)[]> {
  const firsts = new Map<string, PreparedEvent>()
  for (const event of events) if (!firsts.has(event.eventId)) firsts.set(event.eventId, event)
  const insert = engine === 'postgres' ? insertTogether : insertUnknown
  const { ids, known } = await insert(tx, [...firsts.values()], now, causedBy)
  return events.map((event) => {
    const { eventId, digest } = event
    const before = known.get(eventId)
    const first = firsts.get(eventId)
    if (!equalBytes(before?.digest ?? first!.digest, digest)) return idConflict(eventId)
    return before ? { id: before.event, isNew: false } : { id: ids.get(eventId)!, isNew: first === event }
  })
}

/** The places of new events, and what was there already of the others. */
interface Inserted {
  ids: Map<string, number>
  known: Map<string, Known>
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

/** On SQLite nobody else writes meanwhile: what is not there now will not be. */
async function insertUnknown(
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<Inserted> {
  const known = await findKnown(
    tx,
    events.map(({ eventId }) => eventId),
  )
  const ids = new Map<string, number>()
  for (const some of chunks(events.filter(({ eventId }) => !known.has(eventId)))) {
    const rows = await tx
      .insertInto('events')
      .values(
        some.map(({ eventId, type, payload, nonce }) => ({
          event_id: eventId,
          direction: 'emitted' as const,
          source: null,
          type,
          content_type: 'application/json',
          payload,
          headers: null,
          created_at: now,
          nonce,
        })),
      )
      .returning(['id', 'event_id'])
      .execute()
    for (const { id, event_id } of rows) ids.set(event_id, id)
    await tx
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
      .execute()
  }
  return { ids, known }
}

/**
 * One round trip. Ids are given out in the order of the events; those whose ids are taken make no row. The marks are written
 * in one order everywhere: two transactions with the same ids then wait for each other in one direction only, and a
 * unique violation would end the caller's transaction with it. `events` is the statement's main target, whose BEFORE
 * trigger runs before any of this: it publishes the floor that readers of the log go by, and only then nextval is called.
 */
const insertStatement = `
  with numbered as materialized (
    select nextval('events_id_seq') as id, given.* from (
      select * from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::int[], $6::int[], $10::bigint[])
      with ordinality as t (event_id, type, digest, audience, start, length, nonce, place)
      order by place
    ) given
  ), marked as (
    insert into outbox (event, event_id, digest, audience, created_at, caused_by)
    select id, event_id, digest, audience, $8::bigint, $9::bigint from numbered order by event_id collate "C"
    on conflict (event_id) do nothing
    returning event
  )
  insert into events (id, event_id, direction, source, type, content_type, created_at, headers, payload, nonce)
  select id, event_id, 'emitted', null, type, 'application/json', $8::bigint, null,
    substring($7::bytea from start for length), nonce
  from numbered join marked on marked.event = numbered.id
  returning id, event_id`

/** The payloads go as one value, cut apart by the statement: as elements of an array they would be twice as long. */
async function insertTogether(
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<Inserted> {
  if (events.length === 0) return { ids: new Map(), known: new Map() }
  let end = 1
  const starts = events.map(({ payload }) => {
    const start = end
    end += payload.length
    return start
  })
  const query = CompiledQuery.raw(insertStatement, [
    arrayLiteral(events.map(({ eventId }) => eventId)),
    arrayLiteral(events.map(({ type }) => type)),
    arrayLiteral(events.map(({ digest }) => digest)),
    arrayLiteral(events.map(({ audience }) => audience)),
    arrayLiteral(starts),
    arrayLiteral(events.map(({ payload }) => payload.length)),
    Buffer.concat(events.map(({ payload }) => payload)),
    now,
    causedBy,
    arrayLiteral(events.map(({ nonce }) => nonce)),
  ])
  const { rows } = (await tx.executeQuery(prepare(query))) as { rows: { id: number; event_id: string }[] }
  const ids = new Map(rows.map(({ id, event_id }) => [event_id, id]))
  // Others have committed them, before or while this one waited for them.
  const taken = events.map(({ eventId }) => eventId).filter((eventId) => !ids.has(eventId))
  const known = taken.length === 0 ? new Map<string, Known>() : await findKnown(tx, taken)
  const missing = taken.find((eventId) => !known.has(eventId))
  if (missing !== undefined) throw new Error(`the outbox refused ${missing} and does not hold it`)
  return { ids, known }
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
