import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import { poolTransaction } from '../../storage/postgres/transaction/transaction.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import {
  type ClaimedEvent,
  type IncomingEvent,
  type InsertClaiming,
  type InsertLeases,
  keyOf,
  type OnDuplicate,
  advanceAll,
  lockKeys,
  orderKeysOf,
} from '../queue/store.ts'
import { type Column, type PreparedStatement, queryArrays } from '../../storage/postgres/driver/queries.ts'
import { anyForeignMigration } from '../../storage/schema-watch.ts'

/** Milliseconds that a batch may take by default. After that, the database counts as unavailable. */
const insertTimeout = 10_000

/** Milliseconds after a duplicate in which others are expected. */
const duplicatesExpectedFor = 60_000

/**
 * Stores events durably, each at most once for each (source, event id).
 *
 * A batch is first inserted as if all events were new. If that fails, it is inserted by the statement that leaves out known events, and
 * so are the next batches until no duplicate came for a while: duplicates often come in series, and the server logs each
 * statement that fails.
 */
export function eventInserter(
  pool: Pool,
  clock: Clock,
  onDuplicate: OnDuplicate = () => undefined,
): InsertClaiming {
  let duplicatesExpectedUntil = 0

  async function insertUnordered(
    events: readonly IncomingEvent[],
    leases: InsertLeases | undefined,
    within: number,
  ): Promise<readonly ClaimedEvent[]> {
    if (clock.now() >= duplicatesExpectedUntil) {
      try {
        return (await runInsert(pool, insertAsNew, events, within, leases)).claimed
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    }
    const { inserted, claimed } = await runInsert(pool, insertMissing, events, within, leases)
    if (inserted < events.length) {
      duplicatesExpectedUntil = clock.now() + duplicatesExpectedFor
      void reportDuplicates(events, inserted)
    }
    return claimed
  }

  /** If several sources delivered events of the batch, asks which of them were stored by an earlier one. */
  async function reportDuplicates(events: readonly IncomingEvent[], inserted: number): Promise<void> {
    const [first] = events
    if (events.length === 1) return onDuplicate(first!.source, first)
    const known = events.every(({ source }) => source === first?.source)
      ? events.slice(inserted).map(({ source }) => source)
      : await sourcesOfKnown(pool, events).catch(() => [])
    for (const source of known) onDuplicate(source)
  }

  return async (events, leases, within = insertTimeout) => {
    const keys = orderKeysOf(events)
    if (keys.length === 0) return insertUnordered(events, leases, within)
    const inserted = await insertOrdered(pool, events, keys, within)
    if (inserted < events.length) void reportDuplicates(events, inserted)
    return []
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
    const { inserted } = await runInsert(client, insertMissing, events, within)
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

const noClaim = { before: '', parameters: '', names: '', columns: '', values: '', from: '', returning: '' }
/** Nothing is claimed after a breaking migration of a newer version (`SchemaWatch` notices it a moment later). */
const withClaim: typeof noClaim = {
  before: `allowed as materialized (select not exists (${anyForeignMigration}) as claims),`,
  parameters: ', $11::text[], $12::bigint[]',
  names: ', claim, leased_until',
  columns: ', claim, leased_until',
  values: ', case when claims then claim end, case when claims then leased_until end',
  from: ', allowed',
  returning: 'returning id, source, event_id, (select claims from allowed)',
}

/**
 * One statement, one round trip, one commit. Ids follow the order of arrival. Queue entries are inserted in the order of their key, so
 * that two batches with the same events cannot deadlock. `events` is the main target of the statement: its BEFORE trigger publishes
 * the floor for readers of the log before nextval is called.
 */
const insertText = ({ onConflict = '', inserted = 'numbered', which = '', claim = noClaim }): string => `
  with ${claim.before} numbered as materialized (
    select nextval('events_id_seq') as id, incoming.* from (
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
        $9::text[], $10::bytea[] ${claim.parameters})
      with ordinality as t (source, event_id, type, content_type, headers, received_at, status, due_at, order_key, payload
        ${claim.names}, place)
      ${which}
      order by place
    ) incoming
  ), inserted as (
    insert into event_queue (event, source, event_id, type, status, due_at, processed_at, order_key ${claim.columns})
    select id, source, event_id, type, case when order_key is null then status else 'blocked' end, due_at,
      case when status = 'processed' then received_at end, order_key ${claim.values}
    from numbered ${claim.from} order by source collate "C", event_id collate "C"
    ${onConflict}
  )
  insert into events (id, event_id, direction, source, type, content_type, created_at, headers, payload)
  select id, event_id, 'received', source, type, content_type, received_at, headers, payload
  from ${inserted}
  ${claim.returning}`

/** A statement that inserts events, and one that claims some of them too. */
interface InsertStatement {
  plain: PreparedStatement
  claiming: PreparedStatement
}

function insertStatements(
  name: string,
  more: { onConflict?: string; inserted?: string; which?: string },
): InsertStatement {
  return {
    plain: { name, text: insertText(more) },
    claiming: { name: `${name}_claimed`, text: insertText({ ...more, claim: withClaim }) },
  }
}

/**
 * Leaves out known events. An event that is visible is not inserted at all: the insert could wait for a handler that marks this
 * event, while the handler waits for the lock on the order key that this batch holds. A scalar subquery is one seek for each event; a
 * join might read the whole event queue.
 */
const insertMissing = insertStatements('event_queue_insert_missing', {
  onConflict: 'on conflict (source, event_id) do nothing returning event',
  inserted: 'numbered join inserted on inserted.event = numbered.id',
  which:
    'where (select event from event_queue where event_queue.source = t.source and event_queue.event_id = t.event_id) is null',
})

/** Fails if one of the events is known. It takes the server a seventh less time than `on conflict`, which looks for each row first. */
const insertAsNew = insertStatements('event_queue_insert_new', {})

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
 * Inserts events, and claims those of `leases`. Returns the number of events that were new, and those that are claimed.
 * @param within milliseconds; then the connection is closed
 */
async function runInsert(
  on: Pool | PoolClient,
  { plain, claiming }: InsertStatement,
  events: readonly IncomingEvent[],
  within: number,
  leases?: InsertLeases,
): Promise<{ inserted: number; claimed: readonly ClaimedEvent[] }> {
  if (!leases)
    return { inserted: await queryArrays(on, plain, { rows: events, columns }, within), claimed: [] }
  const { claim } = leases
  const chosen = chosenByKey(events, leases)
  const untilOf = (event: IncomingEvent): number | null =>
    chosen.get(keyOf(event)) === event ? leases.until.get(event)! : null
  const withLeases: readonly Column<IncomingEvent>[] = [
    ...columns,
    { kind: 'texts', read: (event) => (untilOf(event) === null ? null : claim) },
    { kind: 'bigints', read: untilOf },
  ]
  const claimed: ClaimedEvent[] = []
  const sent = { rows: events, columns: withLeases }
  const inserted = await queryArrays(on, claiming, sent, within, ([id, source, eventId, isAllowed]) => {
    const event = chosen.get(keyOf({ source: source!, eventId: eventId! }))
    if (event && isAllowed === 't') claimed.push(claimedEvent(Number(id), claim, event))
  })
  return { inserted, claimed }
}

/** The events to claim, but none that is in the batch twice: the rows do not tell which of the two was stored. */
function chosenByKey(events: readonly IncomingEvent[], { until }: InsertLeases): Map<string, IncomingEvent> {
  const chosen = new Map<string, IncomingEvent>()
  const seen = new Set<string>()
  for (const event of events) {
    const key = keyOf(event)
    if (seen.has(key)) chosen.delete(key)
    else if (until.has(event)) chosen.set(key, event)
    seen.add(key)
  }
  return chosen
}

/** The event as `claim` of the event queue would return it: its first attempt. */
function claimedEvent(event: number, claim: string, incoming: IncomingEvent): ClaimedEvent {
  const { source, eventId, type, payload, headers, receivedAt, orderKey } = incoming
  return {
    event,
    claim,
    source,
    eventId,
    type,
    payload,
    headers,
    receivedAt,
    attempts: 1,
    attemptsBefore: 0,
    orderKey,
  }
}
