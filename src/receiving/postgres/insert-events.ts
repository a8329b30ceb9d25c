import type { Pool, QueryConfig } from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import { poolTransaction } from '../../storage/postgres/pool/pool-transaction.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import type { InsertLeases } from '../queue/insert-claims.ts'
import { advanceAll, lockKeys, orderKeysOf } from '../queue/order-keys.ts'
import type { ClaimedEvent, InsertClaiming } from '../queue/store.ts'
import { insertAsNew, insertMissing, runInsert } from './insert-statements.ts'

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
 * @param onDuplicates called with the number of events that were stored before
 */
export function eventInserter(
  pool: Pool,
  clock: Clock,
  onDuplicate: (source: string) => void = () => undefined,
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
