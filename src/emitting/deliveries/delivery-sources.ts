import type { Database, Queryable } from '../../storage/database.ts'
import type { DeliverySearch } from './delivery-log.ts'
import { type IdRange, idsIn } from '../../storage/id-order.ts'
import { deliveryStream, eventsOfType, type OpenStatus } from './id-streams.ts'
import { idAtTime } from '../../events/filter.ts'

/** A place in the order of a source: the delivery's id, and the event's number, which counts if the order is that of events. */
export interface Place {
  event: number
  id: number
}

/** Part of what a source contains. `last`: the source goes on behind this place; `undefined` at its end. */
interface Chunk {
  places: Place[]
  last: Place | undefined
}

/** Deliveries in index order, newest first. The caller checks all conditions except the one that is `ensured`. */
export interface DeliverySource {
  /** The condition of the search that all of its deliveries fulfil. */
  ensured?: 'subscriber' | 'owner' | undefined
  /** At most `count` deliveries behind a place. */
  read(behind: Place, count: number): Promise<Chunk>
}

/** Rows that one statement examines: a few milliseconds. */
const chunk = 500
/** The most statements for one page. */
const mostChunks = 4

/**
 * Reads chunks behind a place until more than `limit` rows are found. It also ends behind the last row, then without `last`, and after a
 * bounded number of rows that do not match.
 */
export async function search<Row, Start, Last extends Start>(
  limit: number,
  start: Start,
  read: (behind: Start, count: number) => Promise<{ rows: readonly Row[]; last?: Last | undefined }>,
): Promise<{ found: Row[]; last: Last | undefined }> {
  const found: Row[] = []
  let behind = start
  // Often all rows match, so the first chunk is short.
  for (let chunks = 1, count = limit + 1; ; chunks += 1, count = chunk) {
    const { rows, last } = await read(behind, count)
    found.push(...rows)
    if (found.length > limit || last === undefined || chunks === mostChunks) return { found, last }
    behind = last
  }
}

/** Before the newest delivery. */
export const newest: Place = { event: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }
/** Without a success, so that an index has them. */
const openStatuses = ['pending', 'dead'] as const
/** The most events that one statement examines. */
const eventsPerChunk = 500

/** Chooses the index that excludes most. */
export async function sourceOf(database: Database, search: DeliverySearch): Promise<DeliverySource> {
  const { eventId, eventType, subscriberId, owner } = search
  if (eventId !== undefined) return ofEvent(database, eventId)
  const statuses = openStatusesOf(search)
  if (eventType !== undefined && subscriberId === undefined && owner === undefined && !statuses)
    return ofType(database, eventType, search)
  const { slowReader: db, engine } = database
  const range = await bounds(db, 'deliveries', search)
  const of = { subscriberId, owner: owner ?? undefined }
  const streams = (statuses ?? [undefined]).map((status) => deliveryStream({ ...of, status }))
  return {
    ensured: subscriberId !== undefined ? 'subscriber' : owner ? 'owner' : undefined,
    async read({ id }, count) {
      const ids = await idsIn(db, engine, streams, { ...range, before: Math.min(id, range.before), count })
      const places = ids.map((one): Place => ({ event: 0, id: one }))
      return { places, last: places.length < count ? undefined : places.at(-1) }
    },
  }
}

/** The statuses without `delivered` that a search is limited to; `undefined` if it is not. A success has a response 2xx. */
function openStatusesOf({ status, responseClass }: DeliverySearch): OpenStatus[] | undefined {
  if (status !== undefined) return status === 'delivered' ? undefined : [status]
  return responseClass === undefined || responseClass === '2xx' ? undefined : [...openStatuses]
}

/** Ids outside of which the time of the search certainly does not lie; see `idAtTime`. */
export async function bounds(
  db: Queryable,
  table: 'deliveries' | 'events',
  { since, until }: { since?: number | undefined; until?: number | undefined },
): Promise<IdRange> {
  const after = since === undefined ? 0 : Math.max(0, (await idAtTime(db, table, since)) - outOfOrder)
  const before =
    until === undefined ? Number.MAX_SAFE_INTEGER : (await idAtTime(db, table, until)) + outOfOrder
  return { after, before }
}

/** Rows that can be out of the order of time near one of its moments, because transactions overlap. */
const outOfOrder = 500

/** All deliveries of one event: one for each subscriber that it went to. */
function ofEvent({ slowReader: db }: Database, eventId: string): DeliverySource {
  return {
    async read({ id }, count) {
      const places = await db
        .selectFrom('idempotency_keys as k')
        .innerJoin('deliveries as d', 'd.event', 'k.event')
        .select(['d.id', 'd.event'])
        .where('k.event_id', '=', eventId)
        .where('d.id', '<', id)
        .orderBy('d.id', 'desc')
        .limit(count)
        .execute()
      return { places, last: places.length < count ? undefined : places.at(-1) }
    },
  }
}

async function ofType(
  { slowReader: db, engine }: Database,
  type: string,
  search: DeliverySearch,
): Promise<DeliverySource> {
  const range = await bounds(db, 'events', search)
  return {
    async read(behind, count) {
      // The event of the place may have more deliveries.
      const part = { ...range, before: Math.min(behind.event + 1, range.before), count: eventsPerChunk }
      const events = await idsIn(db, engine, [eventsOfType(type)], part)
      if (events.length === 0) return { places: [], last: undefined }
      const places = await deliveriesOf(db, { events, behind, count })
      if (places.length === count) return { places, last: places.at(-1) }
      return { places, last: events.length < eventsPerChunk ? undefined : { event: events.at(-1)!, id: 0 } }
    },
  }
}

/** In steps, because one event can have a delivery for each of thousands of subscribers. */
async function deliveriesOf(
  db: Queryable,
  { events, behind, count }: { events: readonly number[]; behind: Place; count: number },
): Promise<Place[]> {
  const places: Place[] = []
  for (let step = 1, from = 0; from < events.length && places.length < count; from += step, step *= 4) {
    const some = events.slice(from, from + step)
    const found = await db
      .selectFrom('deliveries')
      .select(['id', 'event'])
      .where('event', 'in', some)
      .where((eb) => eb.or([eb('event', '<', behind.event), eb('id', '<', behind.id)]))
      .orderBy('event', 'desc')
      .orderBy('id', 'desc')
      .limit(count - places.length)
      .execute()
    places.push(...found)
  }
  return places
}
