import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import { isForOwner, type Reach } from '../events/audience.ts'
import type { DeliverySearch, ResponseClass } from './delivery-filter.ts'
import { type DeliverySource, newest, type Place, sourceOf } from './delivery-sources.ts'

/** A page that is asked for. `query` is what its cursor is bound to. */
export interface AskedPage extends PageRequest {
  query: unknown
}

/** Deliveries that one statement examines: a few milliseconds. */
const chunk = 500
/** Statements of one page. Then the page ends with fewer rows, and its cursor continues the search. */
const mostChunks = 4

/**
 * Finds the deliveries of a page, in the order of their source, and examines only so many for it.
 * @throws Problem `invalid-cursor`
 */
export async function findPage(
  { database, cursors }: { database: Database; cursors: Cursors },
  filter: DeliverySearch,
  reach: Reach,
  { query, limit, cursor }: AskedPage,
): Promise<PageOfRows<Place>> {
  const { readerAside: db, engine } = database
  const source = await sourceOf({ db, engine }, filter)
  const scope = scopeOf(source, query)
  let behind = cursor === undefined ? newest : readPlace(cursors.decode(scope, cursor))
  const found: Place[] = []
  // Often the source itself selects all, so the first chunk is short.
  let count = limit + 1
  for (let chunks = 0; chunks < mostChunks; chunks += 1) {
    const { places, last } = await source.read(behind, count)
    found.push(...(await matching(database, places, conditionsOf(filter, reach, source.ensured))))
    if (found.length > limit || last === undefined)
      return cursors.page(scope, found, limit, (one) => keysOf(source, one))
    behind = last
    count = chunk
  }
  return { rows: found, nextCursor: cursors.encode(scope, keysOf(source, behind)) }
}

/** Those of the deliveries that fulfil the conditions, in their order. Reads only the tables that these need. */
async function matching(
  { readerAside: db, engine }: Database,
  places: readonly Place[],
  conditions: ReturnType<typeof conditionsOf>,
): Promise<readonly Place[]> {
  if (places.length === 0 || conditions.length === 0) return places
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where(
      isOneOf(
        engine,
        'deliveries.id',
        places.map(({ id }) => id),
      ),
    )
    .where(sql<SqlBool>`${sql.join(conditions, sql` and `)}`)
    .execute()
  const ids = new Set(rows.map(({ id }) => id))
  return places.filter(({ id }) => ids.has(id))
}

function scopeOf({ order }: DeliverySource, query: unknown): CursorScope {
  const id = { name: 'id', type: 'integer' } as const
  return {
    list: 'deliveries',
    keys: order === 'id' ? [id] : [{ name: 'event', type: 'integer' }, id],
    query,
  }
}

function keysOf({ order }: DeliverySource, { event, id }: Place): number[] {
  return order === 'id' ? [id] : [event, id]
}

function readPlace(keys: readonly KeyValue[]): Place {
  const [event, id] = keys.length === 1 ? [newest.event, keys[0]] : keys
  return { event: event as number, id: id as number }
}

/** SQL for the conditions of a search on `deliveries`, without the one that its source ensures. */
function conditionsOf(
  filter: DeliverySearch,
  reach: Reach,
  ensured: DeliverySource['ensured'],
): RawBuilder<SqlBool>[] {
  const { subscriberId, owner, status, eventType, since, until, responseClass } = filter
  const conditions: RawBuilder<SqlBool>[] = []
  if (reach !== 'all') conditions.push(isForOwner(reach.owner))
  // A job deletes the deliveries of a removed subscriber by and by: pages must not be filled with them.
  if (ensured !== 'subscriber')
    conditions.push(sql`exists (select 1 from subscribers where subscribers.id = deliveries.subscriber_id)`)
  // A condition that holds anyway would be a reason for a planner to read all deliveries of the subscriber.
  if (subscriberId !== undefined && ensured !== 'subscriber')
    conditions.push(sql`deliveries.subscriber_id = ${subscriberId}`)
  if (owner !== undefined && ensured !== 'owner')
    conditions.push(owner === null ? sql`deliveries.owner is null` : sql`deliveries.owner = ${owner}`)
  if (status) conditions.push(sql`deliveries.status = ${status}`)
  if (eventType)
    conditions.push(sql`(select type from events where events.id = deliveries.event) = ${eventType}`)
  if (since !== undefined) conditions.push(sql`deliveries.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`deliveries.created_at < ${until}`)
  if (responseClass) conditions.push(answeredWith(responseClass))
  return conditions
}

function answeredWith(responseClass: ResponseClass): RawBuilder<SqlBool> {
  const of = sql`attempts.delivery = deliveries.id and attempts.number = deliveries.attempts`
  const from = Number(responseClass[0]) * 100
  const status = responseClass === 'none' ? sql`status is null` : sql`status between ${from} and ${from + 99}`
  return sql<SqlBool>`exists (select 1 from attempts where ${of} and ${status})`
}
