import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import type { Column } from '../../storage/postgres/driver/array-encoder.ts'
import { queryArrays, type PreparedStatement } from '../../storage/postgres/driver/queries.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { advanceAll, lockKeys, orderKeysOf } from '../queue/order-keys.ts'
import type { EventQueue } from '../queue/store.ts'
import { poolTransaction } from '../../storage/postgres/pool/pool-transaction.ts'

/** Milliseconds that a batch may take by default. After that, the database counts as unavailable. */
const insertTimeout = 10_000

/** Milliseconds after a duplicate in which others are expected. */
const duplicatesExpectedFor = 60_000

/**
 * One statement, one round trip, one commit. Ids follow the order of arrival. Queue entries are inserted in the order of their key, so
 * that two batches with the same events cannot deadlock. `events` is the main target of the statement: its BEFORE trigger publishes
 * the floor for readers of the log before nextval is called.
 */
const insertStatement = (onConflict: string, inserted: string, which = ''): string => `
  with numbered as materialized (
    select nextval('events_id_seq') as id, incoming.* from (
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
        $9::text[], $10::bytea[])
      with ordinality as t (source, event_id, type, content_type, headers, received_at, status, due_at, order_key, payload,
        place)
      ${which}
      order by place
    ) incoming
  ), inserted as (
    insert into event_queue (event, source, event_id, type, status, due_at, processed_at, order_key)
    select id, source, event_id, type, case when order_key is null then status else 'blocked' end, due_at,
      case when status = 'processed' then received_at end, order_key
    from numbered order by source collate "C", event_id collate "C"
    ${onConflict}
  )
  insert into events (id, event_id, direction, source, type, content_type, created_at, headers, payload)
  select id, event_id, 'received', source, type, content_type, received_at, headers, payload
  from ${inserted}`

/**
 * Leaves out known events. An event that is visible is not inserted at all: the insert could wait for a handler that marks this
 * event, while the handler waits for the lock on the order key that this batch holds. A scalar subquery is one seek for each event; a
 * join might read the whole event queue.
 */
const insertMissing: PreparedStatement = {
  name: 'event_queue_insert_missing',
  text: insertStatement(
    'on conflict (source, event_id) do nothing returning event',
    'numbered join inserted on inserted.event = numbered.id',
    'where (select event from event_queue where event_queue.source = t.source and event_queue.event_id = t.event_id) is null',
  ),
}

/** Fails if one of the events is known. It takes the server a seventh less time than `on conflict`, which looks for each row first. */
const insertAsNew: PreparedStatement = {
  name: 'event_queue_insert_new',
  text: insertStatement('', 'numbered'),
}

/** In the order of the statements' parameters. */
const columns: readonly Column<IncomingEvent>[] = [
  { kind: 'texts', read: ({ source }) => source },
  { kind: 'texts', read: ({ eventId }) => eventId },
  { kind: 'texts', read: ({ type }) => type },
  { kind: 'texts', read: ({ contentType }) => contentType },
  { kind: 'texts', read: ({ headers }) => headers },
  { kind: 'bigints', read: ({ receivedAt }) => receivedAt },
  { kind: 'texts', read: ({ status }) => status },
  { kind: 'bigints', read: ({ dueAt }) => dueAt },
  { kind: 'texts', read: ({ orderKey }) => orderKey },
  { kind: 'bytes', read: ({ payload }) => payload },
]

/**
 * Stores events durably, each at most once for each (source, event id).
 *
 * A batch is first inserted as if all events were new. If that fails, it is inserted by the statement that leaves out known events, and
 * so are the next batches until no duplicate came for a while: duplicates often come in series, and the server logs each
 * statement that fails.
 * @param onDuplicates called with the number of events that were stored before
 */
export function eventInserter(
  pool: Pool,
  clock: Clock,
  onDuplicate: (source: string) => void = () => undefined,
): EventQueue['insert'] {
  let duplicatesExpectedUntil = 0

  async function insertUnordered(events: readonly IncomingEvent[], within: number): Promise<void> {
    if (clock.now() >= duplicatesExpectedUntil) {
      try {
        await runInsert(pool, insertAsNew, events, within)
        return
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    }
    const inserted = await runInsert(pool, insertMissing, events, within)
    if (inserted === events.length) return
    duplicatesExpectedUntil = clock.now() + duplicatesExpectedFor
    void reportDuplicates(events, inserted)
  }

  /** If several sources delivered events of the batch, asks which of them were stored by an earlier one. */
  async function reportDuplicates(events: readonly IncomingEvent[], inserted: number): Promise<void> {
    const [first] = events
    const known = events.every(({ source }) => source === first?.source)
      ? events.slice(inserted).map(({ source }) => source)
      : await sourcesOfKnown(pool, events).catch(() => [])
    for (const source of known) onDuplicate(source)
  }

  return async (events, within = insertTimeout) => {
    const keys = orderKeysOf(events)
    if (keys.length === 0) return insertUnordered(events, within)
    const inserted = await insertOrdered(pool, events, keys, within)
    if (inserted < events.length) void reportDuplicates(events, inserted)
  }
}

async function insertOrdered(
  pool: Pool,
  events: readonly IncomingEvent[],
  keys: readonly string[],
  within: number,
): Promise<number> {
  return poolTransaction(pool, async (client) => {
    const query = (text: string) =>
      client.query({ text, values: [keys], query_timeout: within } as QueryConfig)
    await query(lockKeys)
    const inserted = await runInsert(client, insertMissing, events, within)
    await query(advanceAll)
    return inserted
  })
}

/** The sources of those events of a stored batch that were known before it. */
async function sourcesOfKnown(pool: Pool, events: readonly IncomingEvent[]): Promise<string[]> {
  const { rows } = await pool.query<{ source: string }>({
    text: `select t.source from unnest($1::text[], $2::text[], $3::bigint[]) as t (source, event_id, received_at)
      where exists (select from event_queue q join events e on e.id = q.event
        where q.source = t.source and q.event_id = t.event_id and e.created_at <> t.received_at)`,
    values: [
      events.map(({ source }) => source),
      events.map(({ eventId }) => eventId),
      events.map(({ receivedAt }) => receivedAt),
    ],
  })
  return rows.map(({ source }) => source)
}

/** Returns the number of events that were new. */
function runInsert(
  on: Pool | PoolClient,
  statement: PreparedStatement,
  events: readonly IncomingEvent[],
  within: number,
): Promise<number> {
  return queryArrays(on, statement, { rows: events, columns }, within)
}
