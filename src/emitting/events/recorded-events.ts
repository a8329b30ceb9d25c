import { CompiledQuery } from 'kysely'
import { equalBytes } from '../../crypto/secrets.ts'
import { Problem } from '../../errors.ts'
import type { Tx } from '../../storage/database.ts'
import { type Column, encodeArrays } from '../../storage/postgres/driver/queries.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { type NewEvent, type PreparedEvent, prepareEvent } from './event.ts'

export interface Recorded {
  /** The event's number in the log. */
  id: number
  /** Whether this call recorded it. False for an event that was emitted before. */
  isNew: boolean
  /** When it was recorded, in milliseconds since 1970. */
  at: number
}

/** Rows of one statement, well below the limits on parameters. */
const rowsPerStatement = 500

interface Known {
  event: number
  created_at: number
  digest: Uint8Array
}

/**
 * Records events whose ids are new, with their options. The number of statements does not depend on the number of events. A known id
 * with the same content returns the first result again, also within one call.
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
  const recorded = events.map((event): Recorded | Problem => {
    const { eventId, digest } = event
    const before = known.get(eventId)
    const first = firsts.get(eventId)
    if (!equalBytes(before?.digest ?? first!.digest, digest))
      return new Problem('id-conflict', {
        detail: `An event with the id ${eventId} was emitted before, with a different type, data, audience, channels or time.`,
      })
    if (before) return { id: before.event, isNew: false, at: before.created_at }
    return { id: ids.get(eventId)!, isNew: first === event, at: now }
  })
  if (events.some(({ options }) => options !== null)) await insertOptions(tx, events, recorded)
  return recorded
}

async function insertOptions(
  tx: Tx,
  events: readonly PreparedEvent[],
  recorded: readonly (Recorded | Problem)[],
): Promise<void> {
  const rows = recorded.flatMap((result, index) => {
    const { options } = events[index]!
    return options === null || result instanceof Problem || !result.isNew
      ? []
      : [{ event: result.id, ...options }]
  })
  if (rows.length > 0) await tx.insertInto('event_options').values(rows).execute()
}

/**
 * Records an event of the past, which is sent to nobody.
 * @returns whether it is new; a known id, with any content, is not recorded again
 * @throws Problem `invalid-body`
 */
export async function recordPast(engine: Engine, tx: Tx, event: NewEvent, at: number): Promise<boolean> {
  const [recorded] = await recordEvents(engine, tx, [prepareEvent(event, at)], { now: at })
  return !(recorded instanceof Problem) && recorded!.isNew
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
      .select(['event', 'event_id', 'digest', 'created_at'])
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
        some.map(({ eventId, type, payload, nonce, headers }) => ({
          event_id: eventId,
          direction: 'emitted' as const,
          source: null,
          type,
          content_type: 'application/json',
          payload,
          headers,
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
      select * from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bigint[], $7::text[])
      with ordinality as t (event_id, type, digest, audience, payload, nonce, headers, place)
      order by place
    ) given
  ), marked as (
    insert into idempotency_keys (event, event_id, digest, audience, created_at, caused_by)
    select id, event_id, digest, audience, $8::bigint, $9::bigint from numbered order by event_id collate "C"
    on conflict (event_id) do nothing
    returning event
  )
  insert into events (id, event_id, direction, source, type, content_type, created_at, headers, payload, nonce)
  select id, event_id, 'emitted', null, type, 'application/json', $8::bigint, headers, payload, nonce
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
  { kind: 'texts', read: ({ headers }) => headers },
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

function* chunks<T>(all: readonly T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += rowsPerStatement)
    yield all.slice(from, from + rowsPerStatement)
}
