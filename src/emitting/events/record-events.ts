import { CompiledQuery } from 'kysely'
import { equalBytes } from '../../crypto/constant-time.ts'
import { Problem } from '../../errors.ts'
import type { Tx } from '../../storage/database.ts'
import { encodeArrays, type Column } from '../../storage/postgres/driver/array-encoder.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { PreparedEvent } from './event.ts'

/** Rows of one statement, well below the limits on parameters. */
const rowsPerStatement = 500

/** The number of an event in the log, and whether this call recorded it. */
export interface Recorded {
  id: number
  isNew: boolean
}

interface Known {
  event: number
  digest: Uint8Array
}

/**
 * Records events whose ids are new. The number of statements does not depend on the number of events. A known id with the same
 * content returns the first result again, also within one call.
 * @returns for each event its number, or the Problem `id-conflict`
 */
export async function recordEvents(
  engine: Engine,
  tx: Tx,
  events: readonly PreparedEvent[],
  { now, causedBy = null }: { now: number; causedBy?: number | null },
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

/** The numbers of the new events, and the rows of those that were recorded before. */
interface Inserted {
  ids: Map<string, number>
  known: Map<string, Known>
}

async function findKnown(tx: Tx, eventIds: readonly string[]): Promise<Map<string, Known>> {
  const known = new Map<string, Known>()
  for (const ids of chunks(eventIds)) {
    const rows = await tx
      .selectFrom('idempotency_keys')
      .select(['event', 'event_id', 'digest'])
      .where('event_id', 'in', ids)
      .execute()
    for (const { event_id, ...rest } of rows) known.set(event_id, rest)
  }
  return known
}

/** On SQLite no other writer can insert the ids between the two statements. */
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
      .insertInto('idempotency_keys')
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
 * One round trip. Numbers are assigned in the order of the events; an id that is taken gets no row, because a unique violation
 * would abort the caller's transaction. The markers are inserted in one order, so that two transactions with the same ids cannot
 * deadlock. `events` is the main target of the statement: its BEFORE trigger publishes the floor for readers of the log before
 * nextval is called.
 */
const insertStatement = `
  with numbered as materialized (
    select nextval('events_id_seq') as id, given.* from (
      select * from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bigint[])
      with ordinality as t (event_id, type, digest, audience, payload, nonce, place)
      order by place
    ) given
  ), marked as (
    insert into idempotency_keys (event, event_id, digest, audience, created_at, caused_by)
    select id, event_id, digest, audience, $7::bigint, $8::bigint from numbered order by event_id collate "C"
    on conflict (event_id) do nothing
    returning event
  )
  insert into events (id, event_id, direction, source, type, content_type, created_at, headers, payload, nonce)
  select id, event_id, 'emitted', null, type, 'application/json', $7::bigint, null, payload, nonce
  from numbered join marked on marked.event = numbered.id
  returning id, event_id`

/** In the order of the parameters of `insertStatement`. */
const eventColumns: readonly Column<PreparedEvent>[] = [
  { kind: 'texts', read: ({ eventId }) => eventId },
  { kind: 'texts', read: ({ type }) => type },
  { kind: 'bytes', read: ({ digest }) => digest },
  { kind: 'texts', read: ({ audience }) => audience },
  { kind: 'bytes', read: ({ payload }) => payload },
  { kind: 'bigints', read: ({ nonce }) => nonce },
]

async function insertTogether(
  tx: Tx,
  events: readonly PreparedEvent[],
  now: number,
  causedBy: number | null,
): Promise<Inserted> {
  if (events.length === 0) return { ids: new Map(), known: new Map() }
  const values = [...encodeArrays(events, eventColumns), now, causedBy]
  const query = CompiledQuery.raw(insertStatement, values)
  const { rows } = (await tx.executeQuery(prepare(query))) as { rows: { id: number; event_id: string }[] }
  const ids = new Map(rows.map(({ id, event_id }) => [event_id, id]))
  // Other transactions committed these ids, before this statement or while it waited for them.
  const taken = events.map(({ eventId }) => eventId).filter((eventId) => !ids.has(eventId))
  const known = taken.length === 0 ? new Map<string, Known>() : await findKnown(tx, taken)
  const missing = taken.find((eventId) => !known.has(eventId))
  if (missing !== undefined)
    throw new Error(`The insert skipped the event id ${missing}, which is not in idempotency_keys`)
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
