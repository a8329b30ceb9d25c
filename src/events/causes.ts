import { sql } from 'kysely'
import type { Queryable } from '../storage/database.ts'
import { isoTimeOrNull } from '../runtime/iso-time.ts'
import { deliveredId, longestChain } from './passed-on.ts'
import { type EventRow, type EventStatus, readStoredHeaders, statusExpression } from './store.ts'

/** Events that one response shows as coming back. */
const mostShown = 100

/** What causes are looked up by. `headers` is null if they are no longer stored. */
type Known = Pick<EventRow, 'id' | 'direction'> & { headers: string | null }

interface Cause {
  id: number
  eventId: string
  direction: EventRow['direction']
  /** Null if it is no longer stored. */
  type: string | null
  source: string | null
  createdAt: string | null
}

/**
 * The chain of events that led to one, the nearest first: an emitted event is caused by the received one whose handler emitted it, a
 * received one by the emitted one whose delivery it was. At most two index seeks for each.
 */
export async function describeCauses(reader: Queryable, event: Known): Promise<Cause[]> {
  const causes: Cause[] = []
  for (let last = event; causes.length < longestChain;) {
    const cause = last.direction === 'emitted' ? await handled(reader, last) : await delivered(reader, last)
    if (!cause) break
    const { headers, ...shown } = cause
    causes.push(shown)
    last = { id: shown.id, direction: shown.direction, headers }
  }
  return causes
}

type Found = Cause & Pick<Known, 'headers'>

/** The received event whose handler emitted this one. */
async function handled(reader: Queryable, { id }: Known): Promise<Found | undefined> {
  const row = await reader
    .selectFrom('idempotency_keys as k')
    .leftJoin('event_queue as q', 'q.event', 'k.caused_by')
    .leftJoin('events as e', 'e.id', 'k.caused_by')
    .select(['k.caused_by', 'q.event_id', 'q.type', 'q.source', 'e.created_at', 'e.headers'])
    .where('k.event', '=', id)
    .executeTakeFirst()
  if (!row || row.caused_by === null) return undefined
  return {
    id: row.caused_by,
    // Its marker may have been removed too.
    eventId: row.event_id ?? '',
    direction: 'received',
    type: row.type,
    source: row.source,
    createdAt: isoTimeOrNull(row.created_at),
    headers: row.headers,
  }
}

/** The emitted event whose delivery this received one was. It is older, so that no chain comes back to itself. */
async function delivered(reader: Queryable, { id, headers }: Known): Promise<Found | undefined> {
  const eventId = deliveredId(readStoredHeaders(headers).headers)
  if (eventId === undefined) return undefined
  const row = await reader
    .selectFrom('idempotency_keys as k')
    .leftJoin('events as e', 'e.id', 'k.event')
    .select(['k.event', 'k.created_at', 'e.type'])
    .where('k.event_id', '=', eventId)
    .where('k.event', '<', id)
    .executeTakeFirst()
  if (!row) return undefined
  const { event, created_at, type } = row
  return {
    id: event,
    eventId,
    direction: 'emitted',
    type,
    source: null,
    createdAt: isoTimeOrNull(created_at),
    headers: null,
  }
}

/** The events that sources received as deliveries of an emitted one. One index seek for each source that there is. */
export async function describeReturned(reader: Queryable, { id, event_id: eventId }: EventRow) {
  const { rows } = await sql<EventRow & { headers: string; status: EventStatus }>`
    with recursive sources(source) as (
      select min(source) from event_queue
      union all
      select (select min(q.source) from event_queue q where q.source > sources.source) from sources where source is not null)
    select e.id, e.event_id, e.type, e.source, e.created_at, e.headers, ${sql.raw(statusExpression)} as status
    from sources join event_queue q on q.source = sources.source and q.event_id = ${eventId}
      join events e on e.id = q.event
    where e.id > ${id} order by e.id limit ${sql.lit(mostShown)}`.execute(reader)
  return rows
    .filter(({ headers }) => deliveredId(readStoredHeaders(headers).headers) === eventId)
    .map((row) => ({
      id: row.id,
      eventId: row.event_id,
      type: row.type,
      source: row.source,
      status: row.status,
      createdAt: isoTimeOrNull(row.created_at),
    }))
}
